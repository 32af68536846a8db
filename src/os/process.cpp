#include "os/process.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/system_call.h"
#include "os/clock.h"
#include "os/memory.h"

namespace snug::os {
namespace {

Atomic<bool> is_start_known{false};
Atomic<bool> privileged{true};  // until it is known
Atomic<uintptr_t> random_bytes{0};

// Takes one entry of the auxiliary vector that the kernel gives a program at its start (getauxval(3)).
void take_fact(unsigned long type, unsigned long value) {
  if (type == AT_SECURE) privileged.store(value != 0, kRelaxed);
  if (type == AT_PAGESZ) set_page_size(value);
  if (type == AT_RANDOM) random_bytes.store(value, kRelaxed);
  if (type == AT_SYSINFO_EHDR) find_clock(value);
}

// A seed made of the 16 random bytes that the kernel gives each program at its start. libc makes its stack guards of
// the same bytes: an address derived from the seed must not reveal them.
uint64_t seed_of_start() {
  learn_start();
  const auto* const bytes = at<const void>(random_bytes.load(kRelaxed));
  if (bytes == nullptr) return milliseconds();
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t words[2];
  memcpy(words, bytes, sizeof words);
  uint64_t seed = (words[0] ^ words[1] * kOdd) * kOdd;
  seed = (seed ^ seed >> 32) * kOdd;
  return seed ^ seed >> 29;
}

}  // namespace

namespace {

size_t limit_on(int resource) {
  rlimit limit{};
  if (system_call(SYS_prlimit64, 0, resource, nullptr, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return static_cast<size_t>(limit.rlim_cur);
}

}  // namespace

size_t address_space_limit() { return limit_on(RLIMIT_AS); }
size_t file_size_limit() { return limit_on(RLIMIT_FSIZE); }

// The flag is set first: an interposer's getauxval() may allocate and call this again, and must not recurse.
void learn_start() {
  if (is_start_known.exchange(true, kAcqRel)) return;
  take_fact(AT_SECURE, ::getauxval(AT_SECURE));
  take_fact(AT_PAGESZ, ::getauxval(AT_PAGESZ));
  take_fact(AT_RANDOM, ::getauxval(AT_RANDOM));
  take_fact(AT_SYSINFO_EHDR, ::getauxval(AT_SYSINFO_EHDR));
}

void learn_start_from(char** environment) {
  if (environment == nullptr || is_start_known.load(kAcquire)) return learn_start();
  while (*environment != nullptr) ++environment;
  const auto* const facts = reinterpret_cast<const ElfW(auxv_t)*>(environment + 1);
  const auto* fact = facts;
  bool has_page_size = false;
  for (; fact->a_type != AT_NULL; ++fact) has_page_size = has_page_size || fact->a_type == AT_PAGESZ;
  if (!has_page_size || is_start_known.exchange(true, kAcqRel)) return learn_start();
  for (fact = facts; fact->a_type != AT_NULL; ++fact) take_fact(fact->a_type, fact->a_un.a_val);
}

bool is_privileged() {
  learn_start();
  return privileged.load(kRelaxed);
}

bool is_alone() {
#if !SNUG_LIBC_TELLS_SINGLE_THREADED
  if (&__libc_single_threaded == nullptr) {
    // A folder has two links of its own, and one for each folder in it: here for each thread. On these processors libc
    // has the kernel's struct.
    struct stat threads{};
    return system_call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &threads, 0) == 0 && threads.st_nlink == 3;
  }
#endif
  return is_single_threaded();
}

uint32_t process_id() { return static_cast<uint32_t>(system_call(SYS_getpid)); }

uint64_t random_seed() {
  uint64_t seed = 0;
  if (system_call(SYS_getrandom, &seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) return seed_of_start();
  return seed;
}

}  // namespace snug::os
