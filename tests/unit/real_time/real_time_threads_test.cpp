// Announced threads and others that exchange blocks: each block reads back as it was written, wherever it ends, and all
// parts are whole and empty afterwards.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "real_time/announced.h"

namespace snug::real_time {
namespace {

using RealTimeThreadsTest = RealTimeTest;

// Blocks on their way between threads. A block describes itself, so that the thread that takes it can prove it whole.
class Exchange {
 public:
  // Puts `rounds` blocks into slots, and resizes or frees what it finds there; how many were damaged.
  int work(uint64_t seed, int rounds) {
    pattern::Random random(seed);
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
      Header* const found = slots_[random.below(kSlots)].exchange(make(random));
      if (found != nullptr) wrong += end(found, random);
    }
    return wrong;
  }
  int drain() {
    pattern::Random random(1);
    int wrong = 0;
    for (std::atomic<Header*>& slot : slots_)
      if (Header* const found = slot.exchange(nullptr); found != nullptr) wrong += end(found, random);
    return wrong;
  }

 private:
  static constexpr size_t kSlots = 256;
  struct Header {
    size_t size;
    uint64_t seed;
  };

  static Header* make(pattern::Random& random) {
    const size_t size = sizeof(Header) + random.size(random.below(64) == 0 ? 18 : 11);
    void* const block = random.below(4) == 0   ? snug_aligned_alloc(size_t{16} << random.below(6), size)
                        : random.below(4) == 0 ? snug_calloc(1, size)
                                               : snug_malloc(size);
    auto* const header = static_cast<Header*>(block);
    if (header == nullptr) return nullptr;  // its part is full: others are to free
    *header = {size, random.next()};
    pattern::fill(header + 1, size - sizeof(Header), header->seed);
    return header;
  }
  static bool is_whole(const Header* header) {
    return pattern::intact(header + 1, header->size - sizeof(Header), header->seed);
  }
  // True if the block was damaged.
  static bool end(Header* header, pattern::Random& random) {
    if (!is_whole(header)) return true;
    if (random.below(4) == 0) {
      const size_t size = header->size + random.below(header->size);
      auto* const moved = static_cast<Header*>(snug_realloc(header, size));
      if (moved != nullptr) header = moved;
      if (!is_whole(header)) return true;
    }
    snug_free(header);
    return false;
  }

  std::atomic<Header*> slots_[kSlots] = {};
};

constexpr int kRounds = 20000;

TEST_F(RealTimeThreadsTest, ThreadsExchangeBlocks) {
  Exchange exchange;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t != 6; ++t)
    threads.emplace_back([&, t] {
      if (t % 3 != 2) {
        EXPECT_EQ(snug_realtime_enter(kPart), 0);
      }
      wrong += exchange.work(t, kRounds);
      EXPECT_EQ(snug_check(0), nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(exchange.drain(), 0);
}

// Threads come and go, with blocks in their parts.
TEST_F(RealTimeThreadsTest, ThreadsComeAndGo) {
  Exchange exchange;
  std::atomic<int> wrong{0};
  for (int round = 0; round != 20; ++round) {
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t != 4; ++t)
      threads.emplace_back([&, t] {
        // Another's part may be left, with blocks inside: then there is none, and the thread is an ordinary one.
        const bool is_announced = snug_realtime_enter(kPart) == 0;
        wrong += exchange.work(t, 500);
        if (is_announced && t % 2 == 0) {
          EXPECT_EQ(snug_realtime_leave(), 0);
          wrong += exchange.work(t, 500);
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(snug_check(1), nullptr);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(exchange.drain(), 0);
}

// Each allocation takes two home: a thread that allocates as much as another frees never runs out.
TEST_F(RealTimeThreadsTest, WhatOthersFreeComesHome) {
  announced(kMiB, [] {
    const size_t size = 1000;
    const size_t half = stats().own_bytes / (size + 16) / 2;
    std::vector<void*> blocks(half);
    for (int round = 0; round != 50; ++round) {
      for (void*& block : blocks) {
        block = snug_malloc(size);
        ASSERT_NE(block, nullptr);
      }
      std::thread([&] {
        for (void* block : blocks) snug_free(block);
      }).join();
    }
    snug_thread_idle();
    EXPECT_EQ(stats().own_free, stats().own_bytes);
  });
}

// What a block held on its way home is gone, also where its cell has become the midst of a longer one.
TEST_F(RealTimeThreadsTest, ABlockThatCameHomeIsAsAnyOther) {
  announced(kPart, [] {
    void* const sent = snug_aligned_alloc(4 * kKiB, 100);
    std::thread([&] { snug_free(sent); }).join();
    snug_thread_idle();
    void* const again = snug_aligned_alloc(4 * kKiB, 100);
    EXPECT_EQ(again, sent);
    snug_free(again);  // never written to
    EXPECT_EQ(stats().own_free, stats().own_bytes);
  });
}

uint64_t blocks_in_use() {
  snug_stats now{};
  snug_get_stats(&now);
  return now.blocks_in_use;
}

// What an announced thread frees of ordinary memory is left to others. The thread is the only one of a child, where no
// background thread frees something meanwhile.
TEST_F(RealTimeThreadsTest, OrdinaryBlocksAreLeftToOthers) {
  std::vector<void*> blocks(10000);
  for (size_t i = 0; i != blocks.size(); ++i) blocks[i] = snug_malloc(i % 5000);
  const pid_t child = fork();
  if (child == 0) {
    if (snug_realtime_enter(kPart) != 0) _exit(1);
    for (void* block : blocks) snug_free(block);
    if (blocks_in_use() < blocks.size()) _exit(2);
    snug_realtime_leave();
    snug_malloc_trim(0);
    _exit(blocks_in_use() < blocks.size() / 10 ? 0 : 3);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (void* block : blocks) snug_free(block);
}

// One thread allocates, and one with deadlines frees: what it leaves never becomes more than a few batches.
TEST_F(RealTimeThreadsTest, WhatIsLeftToOthersDoesNotPileUp) {
  constexpr size_t kMessages = 200'000;
  constexpr size_t kSlots = 64;
  std::vector<std::atomic<void*>> slots(kSlots);
  std::thread reader([&] {
    announced(kPart, [&] {
      for (size_t i = 0; i != kMessages; ++i) {
        void* message = nullptr;
        while ((message = slots[i % kSlots].exchange(nullptr)) == nullptr) std::this_thread::yield();
        snug_free(message);
      }
    });
  });
  uint64_t most = 0;
  for (size_t i = 0; i != kMessages; ++i) {
    void* const message = snug_malloc(100);
    void* none = nullptr;
    while (!slots[i % kSlots].compare_exchange_strong(none, message)) {
      none = nullptr;
      std::this_thread::yield();
    }
    if (i % 1000 == 0) most = std::max(most, blocks_in_use());
  }
  reader.join();
  EXPECT_LT(most, 5000u);
}

// Beside threads that allocate, free and send: each child can use its part and end.
TEST_F(RealTimeThreadsTest, ChildrenOfForksBesideOthers) {
  Exchange exchange;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t != 3; ++t)
    threads.emplace_back([&, t] {
      if (t != 0) {
        EXPECT_EQ(snug_realtime_enter(kPart), 0);
      }
      for (uint64_t round = 0; !stop; ++round) wrong += exchange.work(t + 3 * round, 100);
    });
  announced(kPart, [&] {
    for (int i = 0; i != 50; ++i) {
      void* const block = snug_malloc(1000);
      const pid_t child = fork();
      if (child == 0) {
        snug_free(block);
        for (int round = 0; round != 100; ++round) snug_free(snug_malloc(300));
        snug_thread_idle();
        _exit(snug_check(1) == nullptr ? 0 : 1);
      }
      int status = -1;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
      snug_free(block);
    }
  });
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(exchange.drain(), 0);
}

}  // namespace
}  // namespace snug::real_time
