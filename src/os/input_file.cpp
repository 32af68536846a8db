#include "os/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system_call.h"

namespace snug::os {
namespace {

// Not strerror, which may allocate.
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

InputFile::InputFile(const char* path)
    : descriptor_(system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (descriptor_ < 0) error_ = static_cast<int>(-descriptor_);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) system_call(SYS_close, descriptor_);
}

size_t InputFile::read(void* bytes, size_t capacity) {
  if (error_ != 0) return 0;
  const long count = persistent_system_call(SYS_read, descriptor_, bytes, capacity);
  if (count < 0) error_ = static_cast<int>(-count);
  return count < 0 ? 0 : static_cast<size_t>(count);
}

void InputFile::seek(uint64_t offset) {
  if (error_ != 0) return;
  const long place = system_call(SYS_lseek, descriptor_, offset, SEEK_SET);
  if (place < 0) error_ = static_cast<int>(-place);
}

const char* InputFile::fault() const { return error_ != 0 ? reason(error_) : nullptr; }

}  // namespace snug::os
