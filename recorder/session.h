// Session: the recording that this process may be part of. The environment named it when the process began: the process
// that collects (the collector), its PID namespace, and the folder where rings are left for it. Nothing here allocates.
//
// The collector's process id does not tell whether it lives, as that may be a zombie's or a new process's: the
// collector holds a lock on a file in the folder as long as it runs.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace snug::recorder {

// Keeps errno, which belongs to the program.
class ErrnoKeeper {
 public:
  ErrnoKeeper() : kept_(errno) {}
  ~ErrnoKeeper() { errno = kept_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  const int kept_;
};

inline constexpr std::size_t kMostPath = 640;

// Reads the session from the kernel's copy of the environment: libc has none yet when the first blocks are requested,
// and programs write over theirs, to show a title. To be called once, before all other functions here.
void read_session();
bool has_session();
const char* session_folder();
bool session_asks_for(std::uint64_t what);

// A file's path in the folder; the name may be followed by numbers, each behind a point.
struct SessionPath {
  char text[kMostPath];
};
SessionPath path_in_session(const char* name);
SessionPath path_of_ring(std::uint64_t process, std::uint64_t number);

bool is_collector_gone();
// True if this process's id means another process to the collector. False also if the collector is gone.
bool is_collector_elsewhere();
bool is_session_paused();

// Reports on standard error that this process is not recorded, and why.
void complain(const char* what, const char* why);
// The same, and tells the collector, unless the process may not write into the folder.
void complain_as_lost(const char* what, const char* why);

}  // namespace snug::recorder
