#include "recorder/session.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "recorder/ring.h"

namespace snug::recorder {

namespace {

struct Session {
  bool is_known = false;
  pid_t collector = 0;
  std::uint64_t pid_namespace = 0;  // 0: not known
  std::uint64_t asked_for = 0;
  // Of the folder that `folder` is in.
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  char folder[512] = {};
};
constinit Session session;

std::size_t append(char* to, std::size_t at, std::size_t room, const char* text) {
  for (; *text != '\0' && at + 1 < room; ++text) to[at++] = *text;
  to[at] = '\0';
  return at;
}

std::size_t append(char* to, std::size_t at, std::size_t room, std::uint64_t number) {
  char digits[24];
  std::size_t first = sizeof digits - 1;
  digits[first] = '\0';
  do digits[--first] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  return append(to, at, room, digits + first);
}

// Reads a number and advances behind its digits.
std::uint64_t take_number(const char*& text) {
  std::uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  return number;
}

// Reads "PROCESS:NAMESPACE:ASKED-FOR:DEVICE:NUMBER:FOLDER".
void take_session(const char* value) {
  std::uint64_t numbers[5];
  for (std::uint64_t& number : numbers) {
    number = take_number(value);
    if (*value++ != ':') return;
  }
  if (strlen(value) >= sizeof session.folder) return;
  append(session.folder, 0, sizeof session.folder, value);
  session.collector = static_cast<pid_t>(numbers[0]);
  session.pid_namespace = numbers[1];
  session.asked_for = numbers[2];
  session.device = numbers[3];
  session.number = numbers[4];
  session.is_known = true;
}

// False if the process has another root, or other mounts there: that it does not see the session's folder says nothing.
bool sees_parent_folder() {
  SessionPath parent;
  append(parent.text, 0, sizeof parent.text, session.folder);
  if (char* const slash = strrchr(parent.text, '/'); slash != nullptr) *slash = '\0';
  struct stat status{};
  return syscall(SYS_newfstatat, AT_FDCWD, parent.text, &status, 0) == 0 && status.st_dev == session.device &&
         status.st_ino == session.number;
}

enum class Lock : std::uint8_t { kHeld, kFree, kMissing, kNotKnown };

// Tests whether the collector holds the lock on its file.
Lock look_at_lock() {
  const SessionPath path = path_in_session(kCollectorFile);
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.text, O_RDONLY | O_CLOEXEC));
  if (file < 0) return (errno == ENOENT || errno == ENOTDIR) && sees_parent_folder() ? Lock::kMissing : Lock::kNotKnown;
  const bool is_free = syscall(SYS_flock, file, LOCK_SH | LOCK_NB) == 0;
  const bool is_held = !is_free && errno == EWOULDBLOCK;
  syscall(SYS_close, file);
  return is_free ? Lock::kFree : is_held ? Lock::kHeld : Lock::kNotKnown;
}

// Reads the number out of the kernel's "pid:[NUMBER]".
std::uint64_t own_pid_namespace() {
  char name[64] = {};
  if (syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", name, sizeof name - 1) < 0) return 0;
  const char* digits = strchr(name, '[');
  if (digits == nullptr) return 0;
  return take_number(++digits);
}

}  // namespace

// Reads variables through a buffer, in which an incomplete last one is kept for the next read.
void read_session() {
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC));
  if (file < 0) return;
  char line[1024];
  std::size_t used = 0;
  char bytes[1024];
  for (long length = 0; !session.is_known && (length = syscall(SYS_read, file, bytes, sizeof bytes)) > 0;)
    for (long i = 0; i < length; ++i) {
      if (used < sizeof line) line[used++] = bytes[i];
      if (bytes[i] != '\0') continue;
      const std::size_t name = strlen(kSessionVariable);
      const bool is_whole = line[used - 1] == '\0';  // and not cut off
      if (is_whole && used > name && memcmp(line, kSessionVariable, name) == 0 && line[name] == '=')
        take_session(line + name + 1);
      used = 0;
    }
  syscall(SYS_close, file);
}

bool has_session() { return session.is_known; }
const char* session_folder() { return session.folder; }
bool session_asks_for(std::uint64_t what) { return (session.asked_for & what) != 0; }

SessionPath path_in_session(const char* name) {
  SessionPath path;
  std::size_t length = append(path.text, 0, sizeof path.text, session.folder);
  length = append(path.text, length, sizeof path.text, "/");
  append(path.text, length, sizeof path.text, name);
  return path;
}

namespace {

SessionPath numbered_path(const char* prefix, std::uint64_t process, std::uint64_t number) {
  SessionPath path = path_in_session(prefix);
  std::size_t length = append(path.text, strlen(path.text), sizeof path.text, process);
  length = append(path.text, length, sizeof path.text, ".");
  append(path.text, length, sizeof path.text, number);
  return path;
}

}  // namespace

SessionPath path_of_ring(std::uint64_t process, std::uint64_t number) {
  return numbered_path(kRingPrefix, process, number);
}

// A process that has changed its user may not be permitted to open the file, and one that has another root does not see
// it. Then only the collector's process id can be tested.
bool is_collector_gone() {
  const ErrnoKeeper keeper;
  const Lock lock = look_at_lock();
  if (lock == Lock::kNotKnown) return syscall(SYS_kill, session.collector, 0) != 0 && errno == ESRCH;
  return lock != Lock::kHeld;
}

// A process that does not see the folder may have other mounts together with another namespace.
bool is_collector_elsewhere() {
  const ErrnoKeeper keeper;
  const std::uint64_t own = own_pid_namespace();
  return own != 0 && session.pid_namespace != 0 && own != session.pid_namespace && look_at_lock() != Lock::kFree;
}

bool is_session_paused() { return syscall(SYS_faccessat, AT_FDCWD, path_in_session(kPausedFile).text, F_OK) == 0; }

void complain(const char* what, const char* why) {
  char line[kMostPath + 256];
  std::size_t length = append(line, 0, sizeof line, "snug record: process ");
  length = append(line, length, sizeof line, static_cast<std::uint64_t>(getpid()));
  length = append(line, length, sizeof line, " is not recorded: ");
  length = append(line, length, sizeof line, what);
  length = append(line, length, sizeof line, ": ");
  length = append(line, length, sizeof line, why);
  length = append(line, length, sizeof line, "\n");
  static_cast<void>(!syscall(SYS_write, STDERR_FILENO, line, length));
}

void complain_as_lost(const char* what, const char* why) {
  complain(what, why);
  long failed = -1;
  errno = EEXIST;
  for (std::uint64_t number = 0; failed != 0 && errno == EEXIST; ++number)
    failed = syscall(SYS_symlinkat, why, AT_FDCWD,
                     numbered_path(kLostPrefix, static_cast<std::uint64_t>(getpid()), number).text);
  if (failed != 0) syscall(SYS_fchmodat, AT_FDCWD, path_in_session(kCollectorFile).text, 0600 | kSomeAreLost);
}

}  // namespace snug::recorder
