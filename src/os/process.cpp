#include "os/process.h"

#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/system_call.h"

namespace snug::os {

size_t address_space_limit() {
  rlimit limit{};
  if (system_call(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return SIZE_MAX;
  return static_cast<size_t>(limit.rlim_cur);
}

bool is_privileged() { return ::getauxval(AT_SECURE) != 0; }

uint32_t process_id() { return static_cast<uint32_t>(system_call(SYS_getpid)); }

uint32_t milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint32_t>(now.tv_sec) * 1000u + static_cast<uint32_t>(now.tv_nsec / 1000000);
}

uint64_t nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t random_seed() {
  uint64_t seed = 0;
  if (system_call(SYS_getrandom, &seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) seed = milliseconds();
  return seed;
}

}  // namespace snug::os
