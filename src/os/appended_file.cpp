#include "os/appended_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "base/errno_keeper.h"

namespace snug::os {
namespace {

// The folder that the file `path` is in. False if the path is too long to be one.
bool copy_folder(const char* path, char (&folder)[PATH_MAX]) {
  const char* slash = std::strrchr(path, '/');
  const size_t length = slash == path || slash == nullptr ? 1 : static_cast<size_t>(slash - path);
  if (length >= sizeof folder) return false;
  std::memcpy(folder, slash == nullptr ? "." : path, length);
  folder[length] = 0;
  return true;
}

// As open() would have it: by the effective user and its capabilities.
bool permits(const char* path, int access) { return ::faccessat(AT_FDCWD, path, access, AT_EACCESS) == 0; }

}  // namespace

const char* append_fault(const char* path) {
  ErrnoKeeper keeper;
  struct stat file{};
  char folder[PATH_MAX];
  if (::stat(path, &file) == 0) {
    if (S_ISDIR(file.st_mode)) return "it is a folder";
    return permits(path, W_OK) ? nullptr : "writing the file is not permitted";
  }
  if (errno != ENOENT && errno != ENOTDIR) return "the file cannot be reached";
  if (!copy_folder(path, folder) || ::stat(folder, &file) != 0 || !S_ISDIR(file.st_mode))
    return "there is no such folder";
  return permits(folder, W_OK | X_OK) ? nullptr : "creating the file is not permitted";
}

bool append_to_file(const char* path, const char* bytes, size_t count) {
  ErrnoKeeper keeper;
  // To open a pipe that has no reader would be to wait for one. Plain system calls: libc's open, write and close end a
  // thread that is to be cancelled.
  const int file = static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
  if (file < 0) return false;
  // A reader that is slow is waited for.
  ::fcntl(file, F_SETFL, O_APPEND);
  const bool done = ::syscall(SYS_write, file, bytes, count) == static_cast<long>(count);
  ::syscall(SYS_close, file);
  return done;
}

}  // namespace snug::os
