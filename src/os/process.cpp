#include "os/process.h"

#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/errno_keeper.h"
#include "os/input_file.h"

namespace snug::os {
namespace {

// By a file, which programs may read in nearly every sandbox; prctl may itself be forbidden. A thread may have a filter
// of its own.
bool find_filter() {
  char status[4096];
  InputFile file("/proc/thread-self/status");
  size_t count = 0;
  while (const size_t more = file.read(status + count, sizeof status - 1 - count)) count += more;
  status[count] = 0;
  return std::strstr(status, "\nSeccomp:\t0\n") == nullptr;
}

}  // namespace

size_t address_space_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return static_cast<size_t>(limit.rlim_cur);
}

size_t total_memory() {
  struct sysinfo info{};
  return ::sysinfo(&info) == 0 ? size_t{info.totalram} * info.mem_unit : 0;
}

size_t total_memory_and_swap() {
  struct sysinfo info{};
  return ::sysinfo(&info) == 0 ? (size_t{info.totalram} + info.totalswap) * info.mem_unit : SIZE_MAX;
}

bool is_privileged() { return ::getauxval(AT_SECURE) != 0; }

bool is_filtered() {
  enum Answer : uint8_t { kUnknown, kFree, kFiltered };
  static std::atomic<Answer> known{kUnknown};
  Answer answer = known.load(std::memory_order_relaxed);
  if (answer == kUnknown) {
    answer = find_filter() ? kFiltered : kFree;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == kFiltered;
}

uint32_t milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint32_t>(now.tv_sec) * 1000u + static_cast<uint32_t>(now.tv_nsec / 1000000);
}

uint64_t random_seed() {
  ErrnoKeeper keeper;
  uint64_t seed = 0;
  // Not getrandom(), at which glibc ends a thread that is to be cancelled.
  if (::syscall(SYS_getrandom, &seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) seed = milliseconds();
  return seed;
}

}  // namespace snug::os
