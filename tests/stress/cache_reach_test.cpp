// Threads that allocate and free what only they see, while others take what their caches hold, over and over.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "heap_quiet.h"
#include "stamped_block.h"
#include "stress_scale.h"

namespace snug::stress {
namespace {

// Few blocks of few sizes, so that arrays run empty and bases are raised right below tops. Returns how many blocks came
// damaged or not at all.
uint64_t work(uint64_t owner, uint64_t operations) {
  constexpr size_t kHeld = 40;
  SmallRandom random(owner + 99);
  std::vector<Stamp*> held;
  uint64_t wrong = 0;
  for (uint64_t i = 0; i != operations; ++i) {
    if (held.empty() || (held.size() < kHeld && random.below(2) == 0)) {
      const size_t length = random.below(8) == 0 ? random.length() : 48 + 16 * random.below(3);
      Stamp* block = make_stamped(owner, i, length);
      if (block == nullptr) {
        ++wrong;
      } else {
        held.push_back(block);
      }
    } else {
      std::swap(held[random.below(held.size())], held.back());
      wrong += verify_and_free(held.back()) ? 0 : 1;
      held.pop_back();
    }
  }
  for (Stamp* block : held) wrong += verify_and_free(block) ? 0 : 1;
  return wrong;
}

TEST(CacheRevocationStress, WorkersKeepTheirBlocksWhileCachesAreTaken) {
  const snug_stats before = stats_now();
  std::atomic<uint64_t> wrong{0};
  std::atomic<unsigned> working{kThreads};
  std::atomic<uint64_t> trims{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      do {
        wrong += work(t, scaled(400'000));
      } while (trims == 0);
      --working;
    });
  }
  // Two, so that they meet as well.
  const auto take = [&] {
    for (; working != 0; ++trims) snug_malloc_trim(0);
  };
  std::thread another(take);
  take();
  another.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  expect_quiet(before);
}

}  // namespace
}  // namespace snug::stress
