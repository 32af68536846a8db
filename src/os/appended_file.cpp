#include "os/appended_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system_call.h"
#include "os/held_signals.h"

namespace snug::os {
namespace {

// The folder that the file `path` is in. False if the path is too long to be one.
bool copy_folder(const char* path, char (&folder)[PATH_MAX]) {
  const char* slash = strrchr(path, '/');
  const size_t length = slash == path || slash == nullptr ? 1 : static_cast<size_t>(slash - path);
  if (length >= sizeof folder) return false;
  memcpy(folder, slash == nullptr ? "." : path, length);
  folder[length] = 0;
  return true;
}

// True if open() would permit the access, by the effective user and its capabilities. Kernels before Linux 5.8, and
// some filters of system calls, do not have the call; then the real user counts.
bool permits(const char* path, int access) {
  const long answer = system_call(SYS_faccessat2, AT_FDCWD, path, access, AT_EACCESS);
  if (answer != -ENOSYS && answer != -EPERM) return answer == 0;
  return system_call(SYS_faccessat, AT_FDCWD, path, access) == 0;
}

long look_at(const char* path, struct stat* file) { return system_call(SYS_newfstatat, AT_FDCWD, path, file, 0); }

}  // namespace

const char* append_fault(const char* path) {
  struct stat file{};
  char folder[PATH_MAX];
  const long found = look_at(path, &file);
  if (found == 0) {
    if (S_ISDIR(file.st_mode)) return "it is a folder";
    return permits(path, W_OK) ? nullptr : "writing the file is not permitted";
  }
  if (found != -ENOENT && found != -ENOTDIR) return "the file cannot be reached";
  if (!copy_folder(path, folder) || look_at(folder, &file) != 0 || !S_ISDIR(file.st_mode))
    return "there is no such folder";
  return permits(folder, W_OK | X_OK) ? nullptr : "creating the file is not permitted";
}

bool append_to_file(const char* path, const char* bytes, size_t count) {
  // O_NONBLOCK: opening a pipe without a reader must not wait for one.
  constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const long file = system_call(SYS_openat, AT_FDCWD, path, kHow, 0644);
  if (file < 0) return false;
  // Clears O_NONBLOCK: the write waits for a slow reader.
  system_call(SYS_fcntl, file, F_SETFL, O_APPEND);
  const HeldWriteSignals held;
  // A pipe, or a disk that fills up, may take a part.
  size_t written = 0;
  while (written != count) {
    const long some = persistent_system_call(SYS_write, file, bytes + written, count - written);
    if (some <= 0) break;
    written += static_cast<size_t>(some);
  }
  // What the next process appends begins a line of its own.
  if (written != 0 && written != count) persistent_system_call(SYS_write, file, "\n", 1);
  system_call(SYS_close, file);
  return written == count;
}

}  // namespace snug::os
