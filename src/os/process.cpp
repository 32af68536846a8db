#include "os/process.h"

#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstring>

#include "base/system_call.h"
#include "os/clock.h"

namespace snug::os {
namespace {

// Of the 16 bytes that the kernel gives each program at its start. libc makes its guards of the same ones: what becomes
// an address must not show them.
uint64_t seed_of_start() {
  const auto* const bytes = reinterpret_cast<const void*>(::getauxval(AT_RANDOM));
  if (bytes == nullptr) return milliseconds();
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t words[2];
  std::memcpy(words, bytes, sizeof words);
  uint64_t seed = (words[0] ^ words[1] * kOdd) * kOdd;
  seed = (seed ^ seed >> 32) * kOdd;
  return seed ^ seed >> 29;
}

}  // namespace

size_t address_space_limit() {
  rlimit limit{};
  if (system_call(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return SIZE_MAX;
  return static_cast<size_t>(limit.rlim_cur);
}

bool is_privileged() { return ::getauxval(AT_SECURE) != 0; }

uint32_t process_id() { return static_cast<uint32_t>(system_call(SYS_getpid)); }

uint64_t random_seed() {
  uint64_t seed = 0;
  if (system_call(SYS_getrandom, &seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) return seed_of_start();
  return seed;
}

}  // namespace snug::os
