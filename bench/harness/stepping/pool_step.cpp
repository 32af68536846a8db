// pool_step: what an element of a pool costs in instructions, where that could depend on how much else there is:
//
//   kinds     a pair of allocate and deallocate, from a pool with a cache for each thread, in a program that uses 1,
//             16, 17, 40, 64 and 300 such pools in turn, with no and with 64 other threads that use them too; above 64,
//             where pools share a place among those used last, it may be three times as much
//   checked   an element freed and another allocated, in checked and unchecked pools of 10^4 and 4*10^6 elements: at
//             random places, and in the order of addresses
//
//   pool_step [--max KINDS CHECKED]
//
// With --max, exit status 1 if a pair takes more instructions than its bound; and always if its count depends on how
// much else there is.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "instruction_stepper.h"
#include "snug/pool.h"
#include "snug/pool_thread_cache.h"
#include "waiting_threads.h"

namespace snug::stepping {
namespace {

double last_count(size_t operations) {
  return static_cast<double>(sample_at(sample_count() - 1).instructions) / static_cast<double>(operations);
}

// ---- kinds

using CachedPool = Pool<void, ThreadCached>;
constexpr size_t kPairs = 600;
using Pools = std::vector<std::unique_ptr<CachedPool>>;

[[gnu::noinline]] void pairs_in_turn(CachedPool* const* pools, size_t count) {
  for (size_t i = 0; i < count; ++i) pools[i]->deallocate(pools[i]->allocate());
}
auto* volatile stepped_pairs = &pairs_in_turn;

double count_kinds(size_t kinds, unsigned idle) {
  Pools pools;
  for (size_t i = 0; i < kinds; ++i) pools.push_back(std::make_unique<CachedPool>(32));
  std::vector<CachedPool*> order;
  for (size_t i = 0; i < kPairs; ++i) order.push_back(pools[i % kinds].get());
  const WaitingThreads threads(idle, [&] {
    for (const auto& pool : pools) pool->deallocate(pool->allocate());
  });
  pairs_in_turn(order.data(), kPairs);
  arm(reinterpret_cast<const void*>(stepped_pairs), "kinds", kPairs);
  stepped_pairs(order.data(), kPairs);
  return last_count(kPairs);
}

bool look_at_kinds(double most) {
  double fewest = 1e9, largest = 0;
  for (const unsigned idle : {0u, 64u}) {
    for (const size_t kinds : {1u, 16u, 17u, 40u, 64u, 300u}) {
      const double count = count_kinds(kinds, idle);
      std::printf("%3zu kinds, %2u idle threads: %.1f instructions a pair\n", kinds, idle, count);
      fewest = std::min(fewest, count);
      largest = std::max(largest, kinds <= 64 ? count : count / 3);
    }
  }
  if (largest > fewest + 1) return std::puts("pool_step: a pair's cost depends on how many kinds there are"), false;
  if (largest > most) return std::puts("pool_step: a pair is above its bound"), false;
  return true;
}

// ---- checked

constexpr size_t kTouched = 64;

template <class TestedPool>
[[gnu::noinline]] void replace(TestedPool& pool, void** elements) {
  for (size_t i = 0; i < kTouched; ++i) pool.deallocate(elements[i]);
  for (size_t i = 0; i < kTouched; ++i) elements[i] = pool.allocate();
}

struct Replaced {
  double at_random;
  double in_order;
};

template <class Threads, class Checks>
Replaced count_replaced(size_t size) {
  using TestedPool = Pool<void, Threads, Checks>;
  auto* volatile stepped = &replace<TestedPool>;
  TestedPool pool(16);
  std::vector<void*> elements(size);
  if (pool.allocate_batch(elements) != size) std::exit(2);
  std::array<void*, kTouched> touched;
  uint64_t random = 1;
  for (void*& element : touched) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    std::swap(elements[(random >> 33) % elements.size()], elements.back());
    element = elements.back();
    elements.pop_back();
  }
  const auto count = [&](void** first) {
    arm(reinterpret_cast<const void*>(stepped), "replace", kTouched);
    stepped(pool, first);
    return last_count(kTouched);
  };
  replace(pool, touched.data());
  Replaced counts{};
  counts.at_random = count(touched.data());
  std::copy_n(elements.begin() + static_cast<std::ptrdiff_t>(size / 2), kTouched, touched.begin());
  counts.in_order = count(touched.data());
  pool.drop_all();
  return counts;
}

template <class Threads>
bool look_at_checked(const char* policy, double most) {
  constexpr size_t kFew = 10000, kMany = 4000000;
  const Replaced unchecked = count_replaced<Threads, Unchecked>(kMany);
  const Replaced few = count_replaced<Threads, Checked>(kFew);
  const Replaced many = count_replaced<Threads, Checked>(kMany);
  std::printf("%-12s unchecked %5.1f, checked %5.1f of %zu elements, %5.1f of %zu; in order %5.1f, %5.1f\n", policy,
              unchecked.at_random, few.at_random, kFew, many.at_random, kMany, unchecked.in_order, many.in_order);
  if (many.at_random > 1.2 * few.at_random) return std::puts("pool_step: a check depends on how many there are"), false;
  if (many.at_random > most) return std::puts("pool_step: a checked pair is above its bound"), false;
  return true;
}

int run(double most_kinds, double most_checked) {
  bool holds = look_at_kinds(most_kinds);
  holds &= look_at_checked<SingleThread>("SingleThread", most_checked);
  holds &= look_at_checked<Locked>("Locked", most_checked);
  holds &= look_at_checked<ThreadCached>("ThreadCached", most_checked);
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace snug::stepping

int main(int argc, char** argv) {
  double bounds[2] = {1e9, 1e9};
  if (argc == 4 && std::string(argv[1]) == "--max") {
    for (int i = 0; i < 2; ++i) bounds[i] = std::strtod(argv[i + 2], nullptr);
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: pool_step [--max KINDS CHECKED]\n");
    return 2;
  }
  snug::stepping::install_stepper();
  return snug::stepping::run(bounds[0], bounds[1]);
}
