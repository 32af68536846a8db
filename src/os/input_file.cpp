#include "os/input_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_keeper.h"

namespace snug::os {
namespace {

// strerror may allocate.
const char* reason(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "there is no such file";
    case EACCES:
    case EPERM:
      return "reading the file is not permitted";
    case EISDIR:
      return "it is a folder";
    case EMFILE:
    case ENFILE:
      return "too many files are open";
    default:
      return "the file cannot be read";
  }
}

}  // namespace

InputFile::InputFile(const char* path) {
  ErrnoKeeper keeper;
  // Plain system calls here and below: libc's open, read and close end a thread that is to be cancelled.
  descriptor_ =
      static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0));
  if (descriptor_ < 0) fault_ = reason(errno);
}

InputFile::~InputFile() {
  ErrnoKeeper keeper;
  if (descriptor_ >= 0) ::syscall(SYS_close, descriptor_);
}

size_t InputFile::read(char* bytes, size_t capacity) {
  if (fault_ != nullptr) return 0;
  ErrnoKeeper keeper;
  long count = -1;
  do count = ::syscall(SYS_read, descriptor_, bytes, capacity);
  while (count < 0 && errno == EINTR);
  if (count < 0) fault_ = reason(errno);
  return count < 0 ? 0 : static_cast<size_t>(count);
}

}  // namespace snug::os
