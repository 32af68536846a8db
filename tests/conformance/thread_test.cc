// thread_test.cc: blocks cross threads, threads die, and what they held is not lost.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

namespace {

struct Block {
  void* address = nullptr;
  std::size_t size = 0;
  std::uint64_t seed = 0;
};

Block make(std::size_t size, std::uint64_t seed) {
  Block block{subject::malloc(size), size, seed};
  if (block.address != nullptr) pattern::fill(block.address, size, seed);
  return block;
}

bool destroy(const Block& block) {
  const bool whole = block.address != nullptr && pattern::intact(block.address, block.size, block.seed);
  subject::free(block.address);
  return whole;
}

TEST(Thread, frees_what_another_allocated) {
  const std::size_t count = subject::kSanitized ? 2000 : 20'000;
  std::vector<Block> blocks(count);
  std::thread([&] {
    pattern::Random random(1);
    for (std::size_t i = 0; i < count; ++i) blocks[i] = make(random.size(i % 100 == 0 ? 20 : 12), i);
  }).join();
  std::atomic<int> damaged = 0;
  std::thread([&] {
    for (const Block& block : blocks) damaged += !destroy(block);
  }).join();
  EXPECT_EQ(damaged, 0);
}

TEST(Thread, exchanges_blocks_with_all_others) {
  constexpr int kThreads = 4;
  constexpr std::size_t kSlots = 256;
  // An exchange of a whole Block is no atomic: the slot holds a pointer to one, in a block of the subject too.
  std::vector<std::atomic<Block*>> slots(kSlots);
  std::atomic<int> damaged = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      pattern::Random random(static_cast<std::uint64_t>(t) + 10);
      for (int round = 0; round < (subject::kSanitized ? 5000 : 60'000); ++round) {
        auto* record = static_cast<Block*>(subject::malloc(sizeof(Block)));
        if (record == nullptr) {
          ++refused;
          continue;
        }
        *record = make(random.size(round % 50 == 0 ? 18 : 11), random.next());
        Block* old = slots[random.below(kSlots)].exchange(record);
        if (old == nullptr) continue;
        damaged += !destroy(*old);
        subject::free(old);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<Block*>& slot : slots)
    if (Block* last = slot.load()) {
      damaged += !destroy(*last);
      subject::free(last);
    }
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(subject::check(), nullptr);
}

TEST(Thread, leaves_nothing_behind_when_it_dies) {
  SUBJECT_MUST_BE_SNUG();
  auto live = [] {
    std::thread([] {
      std::vector<void*> blocks;
      for (int i = 0; i < 2000; ++i) blocks.push_back(subject::malloc(static_cast<std::size_t>(i)));
      for (void* block : blocks) subject::free(block);
    }).join();
  };
  for (int i = 0; i < 20; ++i) live();
  snug_stats settled{};
  snug_stats now{};
  ASSERT_TRUE(subject::take_stats(settled));
  for (int i = 0; i < (subject::kSanitized ? 50 : 500); ++i) live();
  ASSERT_TRUE(subject::take_stats(now));
  EXPECT_LE(now.bytes_in_slabs, settled.bytes_in_slabs + 8 * sizes::kMiB) << "dead threads' slabs are not reused";
  EXPECT_LE(now.threads, settled.threads);
  EXPECT_EQ(subject::check(), nullptr);
}

TEST(Thread, counts_what_dead_threads_left_alive) {
  SUBJECT_MUST_BE_SNUG();
  snug_stats before{};
  snug_stats during{};
  snug_stats after{};
  std::vector<void*> blocks(1000);
  std::thread([] {}).join();
  ASSERT_TRUE(subject::take_stats(before));
  std::thread([&] {
    for (void*& block : blocks) block = subject::malloc(500);
  }).join();
  ASSERT_TRUE(subject::take_stats(during));
  EXPECT_GE(during.blocks_in_use - before.blocks_in_use, 1000u);
  EXPECT_LE(during.blocks_in_use - before.blocks_in_use, 1016u);
  for (void* block : blocks) subject::free(block);
  ASSERT_TRUE(subject::take_stats(after));
  EXPECT_LE(after.blocks_in_use, before.blocks_in_use + 16);
}

TEST(Thread, keeps_errno_when_it_frees_remotely) {
  std::vector<void*> blocks;
  for (const std::size_t size : sizes::one_of_each())
    for (int i = 0; i < (size < sizes::kMiB ? 200 : 2); ++i) blocks.push_back(subject::malloc(size));
  std::atomic<int> changed = 0;
  std::thread([&] {
    for (void* block : blocks) {
      errno = 4711;
      subject::free(block);
      changed += errno != 4711;
    }
  }).join();
  EXPECT_EQ(changed, 0);
}

// Destructors of pthread keys run in rounds, in an order nobody promises: some run after the allocator's own has put
// the thread's heap away. They re-arm themselves to be sure to be last.
pthread_key_t key;
std::atomic<int> destructor_runs = 0;
std::atomic<int> destructor_damage = 0;

struct Legacy {
  int rounds_left;
  Block block;
};

void destroy_legacy(void* value) {
  auto* legacy = static_cast<Legacy*>(value);
  ++destructor_runs;
  destructor_damage += !destroy(legacy->block);
  for (const std::size_t size : {10, 1000, 30000, 500000}) destructor_damage += !destroy(make(size, size));
  if (legacy->rounds_left-- > 0) {
    legacy->block = make(2000, 9);
    pthread_setspecific(key, legacy);
  } else {
    subject::free(legacy);
  }
}

struct ThreadLocal {
  Block block;
  ~ThreadLocal() {
    destructor_damage += !destroy(block);
    destructor_damage += !destroy(make(3000, 5));
    ++destructor_runs;
  }
};

TEST(Thread, allocates_and_frees_in_destructors_at_its_end) {
  constexpr int kThreads = 50;
  // PTHREAD_DESTRUCTOR_ITERATIONS is 4; in the last round ThreadSanitizer has put its own state of the thread away.
  constexpr int kRounds = subject::kSanitized ? 1 : 3;
  destructor_runs = 0;
  destructor_damage = 0;
  ASSERT_EQ(pthread_key_create(&key, destroy_legacy), 0);
  snug_stats before{};
  snug_stats after{};
  const bool counted = subject::take_stats(before);
  for (int i = 0; i < kThreads; ++i)
    std::thread([] {
      static thread_local ThreadLocal local;
      local.block = make(700, 3);
      auto* legacy = static_cast<Legacy*>(subject::malloc(sizeof(Legacy)));
      *legacy = {kRounds, make(100, 4)};
      pthread_setspecific(key, legacy);
    }).join();
  pthread_key_delete(key);
  EXPECT_EQ(destructor_damage, 0);
  EXPECT_EQ(destructor_runs, kThreads * (1 + kRounds + 1));
  if (counted && subject::take_stats(after)) {
    EXPECT_LE(after.blocks_in_use, before.blocks_in_use + 16);
    EXPECT_LE(after.threads, before.threads) << "a heap made for a destructor was never put away";
  }
  EXPECT_EQ(subject::check(), nullptr);
}

TEST(Thread, may_number_hundreds_at_once) {
  const int count = subject::kSanitized ? 50 : 400;
  std::atomic<int> arrived = 0;
  std::atomic<bool> leave = false;
  std::atomic<int> damaged = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const Block block = make(static_cast<std::size_t>(i) * 10, static_cast<std::uint64_t>(i));
      ++arrived;
      while (!leave) std::this_thread::yield();
      damaged += !destroy(block);
    });
  while (arrived < count) std::this_thread::yield();
  leave = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(damaged, 0);
}

}  // namespace
