// Heaps of one's own in several threads, and across a fork.
#include <gtest/gtest.h>
#include <snug/heap.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "heap/own_heap.h"
#include "heap/region_heap.h"
#include "pattern.h"

namespace snug::own_heap {
namespace {

using HeapThreadsTest = OneHeapTest;

TEST_F(HeapThreadsTest, AnotherThreadFreesTheBlocks) {
  std::vector<Block> blocks;
  uint64_t seed = 0;
  for (const size_t size : kSizes)
    for (int i = 0; i < (size > 16 * kKiB ? 3 : 500); ++i) blocks.push_back(make(heap_, size, ++seed));
  EXPECT_EQ(stats_of(heap_).blocks_in_use, blocks.size());
  std::atomic<int> damaged{0};
  std::thread([&] {
    for (const Block& block : blocks) damaged += !destroy(block);
  }).join();
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  EXPECT_EQ(stats_of(heap_).bytes_in_use, 0u);
  // The heap hands them out again.
  for (const size_t size : kSizes) EXPECT_TRUE(destroy(make(heap_, size, size)));
  snug_heap_trim(heap_);
  EXPECT_EQ(stats_of(heap_).bytes_held, 0u);
}

TEST_F(HeapThreadsTest, AHeapOutlivesTheThreadThatMadeIt) {
  snug_heap* made = nullptr;
  Block block;
  std::thread([&] {
    made = heap_with("of a thread that has ended");
    block = make(made, 1000, 1);
  }).join();
  EXPECT_STREQ(snug_heap_name(made), "of a thread that has ended");
  EXPECT_EQ(snug_heap_of(block.address), made);
  EXPECT_EQ(stats_of(made).blocks_in_use, 1u);
  EXPECT_TRUE(destroy(block));
  EXPECT_TRUE(destroy(make(made, 1000, 2)));
  EXPECT_EQ(stats_of(made).blocks_in_use, 0u);
  EXPECT_EQ(snug_heap_destroy(made), 0);
}

// With check:on another thread's frees bring home what has rested, and so take it from the list that a visit is in.
TEST_F(HeapThreadsTest, VisitsSeeEachLargeBlockWhileOthersComeHome) {
  constexpr size_t kEach = 10;  // of so many blocks one stays
  const auto count = [](void* argument, void*, size_t) -> int { return ++*static_cast<size_t*>(argument), 0; };
  std::atomic<bool> stop{false};
  std::atomic<int> freed{0};
  std::thread freer([&] {
    for (; !stop; ++freed) snug_free(snug_malloc(300 * kKiB));
  });
  for (int round = 0; round < (kSanitized ? 3 : 20); ++round) {
    std::vector<void*> blocks(100);
    for (void*& block : blocks) EXPECT_NE(block = snug_heap_malloc(heap_, 300 * kKiB), nullptr);
    for (size_t i = 0; i != blocks.size(); ++i)
      if (i % kEach != 0) snug_free(blocks[i]);
    // So many that all that rested have come home.
    for (const int last = freed + 300; freed < last;) {
      size_t seen = 0;
      EXPECT_EQ(snug_heap_visit(heap_, count, &seen), 0);
      EXPECT_EQ(seen, blocks.size() / kEach);
    }
    for (size_t i = 0; i < blocks.size(); i += kEach) snug_free(blocks[i]);
  }
  stop = true;
  freer.join();
}

// What lies in the caches of threads that end comes back to the heap.
TEST_F(HeapThreadsTest, ThreadsThatEndLeaveNothingInTheirCaches) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t)
      threads.emplace_back([this, t] {
        std::vector<Block> blocks;
        pattern::Random random(t);
        for (int i = 0; i < 1000; ++i) blocks.push_back(make(heap_, random.size(12), random.next()));
        for (const Block& block : blocks) EXPECT_TRUE(destroy(block));
      });
    for (std::thread& thread : threads) thread.join();
    const snug_heap_stats stats = stats_of(heap_);
    EXPECT_EQ(stats.blocks_in_use, 0u);
    EXPECT_EQ(stats.bytes_in_use, 0u);
    EXPECT_EQ(stats.bytes_cached, 0u);
  }
  snug_heap_trim(heap_);
  EXPECT_EQ(stats_of(heap_).bytes_held, 0u);
}

// A thread that has used more heaps than it has caches for, each of which it leaves blocks to.
TEST_F(HeapThreadsTest, AThreadOfManyHeapsLeavesNothingInItsCaches) {
  std::vector<snug_heap*> heaps(30);
  for (snug_heap*& heap : heaps) heap = heap_with("of many", 0, SNUG_HEAP_MUST_BE_EMPTY);
  std::thread([&] {
    for (int round = 0; round < 50; ++round)
      for (snug_heap* heap : heaps) {
        Block blocks[20];
        for (Block& block : blocks) block = make(heap, 100, 5);
        for (const Block& block : blocks) EXPECT_TRUE(destroy(block));
      }
  }).join();
  for (snug_heap* heap : heaps) {
    EXPECT_EQ(stats_of(heap).blocks_in_use, 0u);
    EXPECT_EQ(stats_of(heap).bytes_cached, 0u);
    EXPECT_EQ(snug_heap_destroy(heap), 0);
  }
}

// Blocks on their way between threads. A block describes itself, so that the thread that takes it can prove it whole.
class Exchange {
 public:
  explicit Exchange(std::vector<snug_heap*> heaps) : heaps_(std::move(heaps)) {}

  // Puts `rounds` blocks into slots, and frees or resizes what it finds there; how many were damaged or refused.
  int work(pattern::Random& random, int rounds) {
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
      Header* const made = make_one(random);
      wrong += made == nullptr;
      Header* const found = slots_[random.below(kSlots)].exchange(made);
      if (found != nullptr) wrong += !end(found, random);
    }
    return wrong;
  }
  // Frees what is left; how many were damaged.
  int drain() {
    int wrong = 0;
    for (std::atomic<Header*>& slot : slots_)
      if (Header* const found = slot.exchange(nullptr)) {
        wrong += !is_whole(found);
        snug_free(found);
      }
    return wrong;
  }

 private:
  static constexpr size_t kSlots = 512;
  struct Header {
    snug_heap* heap;
    size_t size;
    uint64_t seed;
  };

  Header* make_one(pattern::Random& random) {
    snug_heap* const heap = heaps_[random.below(heaps_.size())];
    const size_t size = sizeof(Header) + random.size(random.below(64) == 0 ? 20 : 11);
    auto* const header = static_cast<Header*>(snug_heap_malloc(heap, size));
    if (header == nullptr) return nullptr;
    *header = {heap, size, random.next()};
    pattern::fill(header + 1, touched(size), header->seed);
    return header;
  }
  static size_t touched(size_t size) { return std::min<size_t>(size - sizeof(Header), 4096); }
  static bool is_whole(const Header* header) {
    return snug_heap_of(header) == header->heap && pattern::intact(header + 1, touched(header->size), header->seed);
  }
  static bool end(Header* header, pattern::Random& random) {
    bool whole = is_whole(header);
    if (random.below(8) == 0) {
      const Header before = *header;
      auto* const grown = static_cast<Header*>(snug_realloc(header, before.size + 1000));
      whole = whole && grown != nullptr && is_whole(grown) && grown->seed == before.seed;
      if (grown != nullptr) header = grown;
    }
    snug_free(header);
    return whole;
  }

  std::vector<snug_heap*> heaps_;
  std::atomic<Header*> slots_[kSlots] = {};
};

TEST_F(HeapThreadsTest, EightThreadsHandBlocksOver) {
  Exchange exchange({heap_});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t)
    threads.emplace_back([&exchange, &wrong, t] {
      pattern::Random random(t + 1);
      wrong += exchange.work(random, kSanitized ? 5'000 : 40'000);
    });
  for (std::thread& thread : threads) thread.join();
  wrong += exchange.drain();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  EXPECT_EQ(stats_of(heap_).bytes_in_use, 0u);
}

// Each thread begins and ends heaps of its own beside one that all share.
TEST_F(HeapThreadsTest, HeapsComeAndGoBesideOthers) {
  Exchange exchange({heap_});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&exchange, &wrong, t] {
      pattern::Random random(t + 1);
      for (int life = 0; life < (kSanitized ? 50 : 500); ++life) {
        snug_heap* const own = heap_with("own");
        for (int i = 0; i < 50; ++i) {
          const Block block = make(own, random.size(i == 0 ? 19 : 11), random.next());
          wrong += !block.is_whole();
          if (i % 2 == 0) snug_free(block.address);
        }
        wrong += exchange.work(random, 20);
        wrong += stats_of(own).blocks_in_use != 25;
        wrong += snug_heap_destroy(own) != 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  wrong += exchange.drain();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
}

TEST_F(HeapThreadsTest, ThoseThatSixteenThreadsMakeAndDestroyLeaveNothing) {
  std::atomic<int> wrong{0};
  const auto round = [&wrong](int lives) {
    std::vector<std::thread> threads;
    for (int t = 0; t != 16; ++t)
      threads.emplace_back([&wrong, lives] {
        for (int i = 0; i != lives; ++i) {
          snug_heap* const own = heap_with("one of many");
          for (const size_t size : {100, 200, 400, 800}) wrong += !make(own, size, 1).is_whole();
          wrong += snug_heap_destroy(own) != 0;
        }
      });
    for (std::thread& thread : threads) thread.join();
  };
  const auto in_memory = [] {
    snug_memory memory{};
    EXPECT_EQ(snug_get_memory(&memory), 0);
    return memory.rss;
  };
  round(100);
  const uint64_t memory = in_memory();
  const snug_stats before = process_stats();
  round(kSanitized ? 100 : 6000);
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(in_memory(), memory + 2 * kMiB);
  EXPECT_LE(process_stats().bytes_metadata, before.bytes_metadata + kMiB);
  EXPECT_LE(process_stats().bytes_reserved, before.bytes_reserved + 64 * kMiB);
}

TEST_F(HeapThreadsTest, AllThreadsTogetherKeepTheLimit) {
  constexpr size_t limit = 2 * kMiB;
  snug_heap* const limited = heap_with("limited", limit);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      pattern::Random random(t + 1);
      for (int round = 0; round < 20; ++round) {
        std::vector<Block> blocks;
        for (int i = 0; i < 2000; ++i) {
          const Block block = make(limited, random.size(i % 100 == 0 ? 19 : 10), random.next());
          EXPECT_LE(stats_of(limited).bytes_held, limit);
          if (block.address == nullptr)
            ++refused;
          else
            blocks.push_back(block);
        }
        for (const Block& block : blocks) EXPECT_TRUE(destroy(block));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(refused, 0);
  EXPECT_LE(stats_of(limited).peak_held, limit);
  EXPECT_EQ(stats_of(limited).blocks_in_use, 0u);
  snug_heap_trim(limited);
  EXPECT_EQ(stats_of(limited).bytes_held, 0u);
  EXPECT_EQ(snug_heap_destroy(limited), 0);
}

#ifndef __SANITIZE_THREAD__
constexpr unsigned kChildSeconds = 600;  // a child that hangs ends by its own alarm

// In the child of a fork: uses the heaps that it has inherited, then ends them. Its exit status says what went wrong.
[[noreturn]] void live_as_child(Exchange& exchange, const std::vector<snug_heap*>& heaps, uint64_t number) {
  alarm(kChildSeconds);
  pattern::Random random(number + 1000);
  if (exchange.work(random, 200) != 0) _exit(2);
  if (exchange.drain() != 0) _exit(3);
  if (snug_check(0) != nullptr) _exit(4);
  for (snug_heap* heap : heaps) {
    const Block block = make(heap, 5000, number);
    if (!block.is_whole()) _exit(5);
    snug_heap_trim(heap);
    if (number % 2 == 0) snug_free(block.address);
    if (snug_heap_destroy(heap) != 0) _exit(6);
  }
  snug_heap* const own = heap_with("the child's");
  if (own == nullptr || !destroy(make(own, 1000, 1)) || snug_heap_destroy(own) != 0) _exit(7);
  if (snug_check(1) != nullptr) _exit(8);
  _exit(0);
}

TEST_F(HeapThreadsTest, AChildOfAForkUsesAndEndsTheHeapsOfItsParent) {
  constexpr size_t kRegionBytes = 1024 * kMiB;  // more than what the threads have at once
  void* const region =
      mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const uintptr_t start = (reinterpret_cast<uintptr_t>(region) + kUnit - 1) / kUnit * kUnit;
  const std::vector<snug_heap*> heaps{heap_, heap_with("second"),
                                      heap_in(reinterpret_cast<void*>(start), kRegionBytes - kUnit)};
  ASSERT_NE(heaps.back(), nullptr);
  Exchange exchange(heaps);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&exchange, &stop, &wrong, t] {
      pattern::Random random(t + 1);
      while (!stop) wrong += exchange.work(random, 100);
    });
  for (uint64_t number = 0; number < (kSanitized ? 20 : 200) && wrong == 0; ++number) {
    const pid_t child = fork();
    if (child == 0) live_as_child(exchange, heaps, number);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "child " << number << " exited with " << WEXITSTATUS(status) << " or by signal "
                         << WTERMSIG(status);
    if (status != 0) break;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  wrong += exchange.drain();
  EXPECT_EQ(wrong, 0);
  for (snug_heap* heap : heaps) EXPECT_EQ(stats_of(heap).blocks_in_use, 0u);
  for (size_t i = 1; i < heaps.size(); ++i) EXPECT_EQ(snug_heap_destroy(heaps[i]), 0);
  EXPECT_EQ(munmap(region, kRegionBytes), 0);
}
#endif

}  // namespace
}  // namespace snug::own_heap
