// Threads that live briefly and die holding caches and live blocks, which later threads free.
//
// What a dying thread owned must be adopted, never lost: over 1000 generations neither the address space held nor the
// heaps that wait for adoption may grow.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "heap_quiet.h"
#include "stamped_block.h"
#include "stress_scale.h"

namespace snug::stress {
namespace {

constexpr uint64_t kGenerations = 1000;
constexpr unsigned kThreadsPerGeneration = 4;
constexpr unsigned kBlocksPerThread = 400;

// Blocks that outlive their threads.
class Estate {
 public:
  void leave(std::vector<Stamp*> blocks) {
    const std::lock_guard lock(mutex_);
    blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
  }

  // Up to `count` of the oldest.
  std::vector<Stamp*> inherit(size_t count) {
    const std::lock_guard lock(mutex_);
    const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(std::min(count, blocks_.size()));
    std::vector<Stamp*> taken(blocks_.begin(), end);
    blocks_.erase(blocks_.begin(), end);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::vector<Stamp*> blocks_;
};

// One short life: makes blocks, frees half of them into its cache, frees what it inherited, leaves the rest behind.
uint64_t live_and_die(Estate& estate, uint64_t owner) {
  SmallRandom random(owner);
  uint64_t damaged = 0;
  std::vector<Stamp*> left;
  for (unsigned i = 0; i < kBlocksPerThread; ++i) {
    Stamp* const block = make_stamped(owner, i, 32 + random.below(2000));
    if (block == nullptr) {
      ++damaged;
    } else if (random.below(2) == 0) {
      damaged += verify_and_free(block) ? 0 : 1;
    } else {
      left.push_back(block);
    }
  }
  for (Stamp* block : estate.inherit(kBlocksPerThread / 2)) damaged += verify_and_free(block) ? 0 : 1;
  estate.leave(std::move(left));
  return damaged;
}

TEST(ThreadChurn, MemoryDoesNotGrowOverGenerations) {
  const snug_stats before = stats_now();
  Estate estate;
  std::atomic<uint64_t> damaged{0};
  const uint64_t generations = std::max<uint64_t>(scaled(kGenerations), 120);
  uint64_t reserved_early = 0;
  uint64_t most_abandoned = 0;
  for (uint64_t generation = 0; generation < generations; ++generation) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreadsPerGeneration; ++i) {
      threads.emplace_back([&, i] { damaged += live_and_die(estate, generation * kThreadsPerGeneration + i); });
    }
    for (std::thread& thread : threads) thread.join();
    // The estate itself stays bounded: half is freed at once, the rest a generation later.
    for (Stamp* block : estate.inherit(kBlocksPerThread * kThreadsPerGeneration / 8)) {
      damaged += verify_and_free(block) ? 0 : 1;
    }
    const snug_stats now = stats_now();
    if (generation < 50) reserved_early = std::max(reserved_early, now.bytes_reserved);
    most_abandoned = std::max(most_abandoned, now.heaps_abandoned);
    ASSERT_LE(now.bytes_reserved, reserved_early + reserved_early / 4 + (8u << 20)) << "in generation " << generation;
    ASSERT_LE(now.threads, kThreadsPerGeneration + before.threads + 1) << "in generation " << generation;
  }
  for (Stamp* block : estate.inherit(~size_t{0} >> 1)) damaged += verify_and_free(block) ? 0 : 1;
  EXPECT_EQ(damaged.load(), 0u);
  EXPECT_LE(most_abandoned, kThreadsPerGeneration * 4u);
  expect_quiet(before);
}

// Threads that allocate, free everything, and exit: nothing of theirs may stay behind but what the next one reuses.
TEST(ThreadChurn, OneAfterAnotherReusesTheSameMemory) {
  uint64_t reserved_early = 0;
  for (uint64_t i = 0; i < scaled(3000); ++i) {
    std::thread([i] {
      SmallRandom random(i);
      std::vector<void*> blocks;
      for (unsigned k = 0; k < 100; ++k) blocks.push_back(snug_malloc(random.length()));
      for (void* block : blocks) snug_free(block);
    }).join();
    const uint64_t reserved = stats_now().bytes_reserved;
    if (i < 20) reserved_early = std::max(reserved_early, reserved);
    ASSERT_LE(reserved, reserved_early + (4u << 20)) << "after thread " << i;
  }
}

}  // namespace
}  // namespace snug::stress
