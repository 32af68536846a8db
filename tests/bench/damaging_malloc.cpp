// A malloc that damages blocks, for the test that every workload notices it: glibc's, but that from the 200th block on,
// each hundredth malloc overwrites the first bytes of the block before it, if that is still alive and has $DAMAGED_FROM
// bytes or more, 16 by default.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned kFirst = 200;
constexpr unsigned kOneIn = 100;
constexpr size_t kSmallest = 16;

size_t smallest() {
  const char* const asked = std::getenv("DAMAGED_FROM");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : kSmallest;
}

std::atomic<unsigned> count{0};
std::atomic<char*> latest{nullptr};

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" void* malloc(size_t size) {
  static auto* const real = next<void*(size_t)>("malloc");
  static const size_t least = smallest();
  const unsigned number = count.fetch_add(1);
  char* const block = static_cast<char*>(real(size));
  char* const before = latest.exchange(size >= least ? block : nullptr);
  if (before != nullptr && number >= kFirst && number % kOneIn == 0) std::memset(before, 0x5a, 8);
  return block;
}

extern "C" void free(void* block) {
  static auto* const real = next<void(void*)>("free");
  char* expected = static_cast<char*>(block);
  latest.compare_exchange_strong(expected, nullptr);
  real(block);
}
