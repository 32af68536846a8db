// Pools that threads share: locked ones, and ones with a cache for each thread. ThreadSanitizer runs these too.
#include <gtest/gtest.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "pool/counting_source.h"

namespace snug {
namespace {

template <class Work>
void in_threads(unsigned count, Work&& work) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
}

template <class Tested>
class SharedPoolTest : public testing::Test {
 protected:
  using Shared = Pool<void, typename Tested::Threads, typename Tested::Checks, CountingSource>;
  ~SharedPoolTest() override { EXPECT_TRUE(ledger.blocks.empty()); }
  SourceLedger ledger;
};
template <class ThreadsPolicy, class ChecksPolicy>
struct Policies {
  using Threads = ThreadsPolicy;
  using Checks = ChecksPolicy;
};
using SharedPools = testing::Types<Policies<Locked, Unchecked>, Policies<ThreadCached, Unchecked>,
                                   Policies<Locked, Checked>, Policies<ThreadCached, Checked>>;
TYPED_TEST_SUITE(SharedPoolTest, SharedPools);

struct Item {
  uint64_t owner;
  uint64_t number;
  uint64_t sum;
};

void stamp(Item* item, uint64_t owner, uint64_t number) { *item = {owner, number, owner ^ number}; }
void expect_intact(const Item* item) { ASSERT_EQ(item->sum, item->owner ^ item->number); }

TYPED_TEST(SharedPoolTest, KeepsElementsOfThreadsApart) {
  typename TestFixture::Shared pool(sizeof(Item), alignof(Item), {}, CountingSource{&this->ledger});
  in_threads(4, [&pool](unsigned t) {
    std::minstd_rand random(t + 1);
    std::vector<Item*> mine;
    for (uint64_t i = 0; i < 4000; ++i) {
      if (mine.empty() || random() % 2 != 0) {
        mine.push_back(static_cast<Item*>(pool.allocate()));
        stamp(mine.back(), t, i);
      } else {
        std::swap(mine[random() % mine.size()], mine.back());
        ASSERT_EQ(mine.back()->owner, t);
        expect_intact(mine.back());
        pool.deallocate(mine.back());
        mine.pop_back();
      }
    }
    for (Item* item : mine) pool.deallocate(item);
  });
  EXPECT_STREQ(pool.check(), nullptr);
  EXPECT_EQ(pool.stats().live, 0u);
}

TYPED_TEST(SharedPoolTest, TakesBackWhatOthersAllocated) {
  typename TestFixture::Shared pool(sizeof(Item), alignof(Item), {}, CountingSource{&this->ledger});
  std::mutex mutex;
  std::vector<Item*> exchange;
  in_threads(4, [&](unsigned t) {
    for (uint64_t i = 0; i < 2000; ++i) {
      auto* const item = static_cast<Item*>(pool.allocate());
      stamp(item, t, i);
      Item* other = item;
      {
        const std::lock_guard guard(mutex);
        exchange.push_back(item);
        std::swap(exchange[i * 7919 % exchange.size()], exchange.back());
        if (i % 3 != 0) continue;
        other = exchange.back();
        exchange.pop_back();
      }
      expect_intact(other);
      pool.deallocate(other);
    }
  });
  EXPECT_EQ(pool.stats().live, exchange.size());
  for (Item* item : exchange) pool.deallocate(item);
  EXPECT_STREQ(pool.check(), nullptr);
  EXPECT_EQ(pool.stats().live, 0u);
}

TYPED_TEST(SharedPoolTest, ReservesAndShrinksWhileOthersWork) {
  typename TestFixture::Shared pool(sizeof(Item), alignof(Item), {}, CountingSource{&this->ledger});
  std::atomic<bool> stop{false};
  std::thread keeper([&] {
    while (!stop.load()) {
      EXPECT_TRUE(pool.reserve(50));
      pool.release_unused();
      std::this_thread::yield();
    }
  });
  in_threads(2, [&pool](unsigned t) {
    std::vector<Item*> mine;
    for (uint64_t i = 0; i < 3000; ++i) {
      mine.push_back(static_cast<Item*>(pool.allocate()));
      stamp(mine.back(), t, i);
      if (mine.size() < 300) continue;
      for (Item* item : mine) {
        expect_intact(item);
        pool.deallocate(item);
      }
      mine.clear();
    }
  });
  stop = true;
  keeper.join();
  EXPECT_EQ(pool.stats().live, 0u);
  EXPECT_STREQ(pool.check(), nullptr);
}

// ---- caches

using CachedPool = Pool<void, ThreadCached, Unchecked, CountingSource>;

TEST(ThreadCachedPool, TakesTheSlotsOfEndedThreadsBack) {
  SourceLedger ledger;
  CachedPool pool(64, 8, {}, CountingSource{&ledger});
  size_t bytes = 0;
  for (int round = 0; round < 20; ++round) {
    std::thread([&pool] {
      std::vector<void*> elements(500);
      ASSERT_EQ(pool.allocate_batch(elements), 500u);
      pool.deallocate_batch(elements);
    }).join();
    if (round == 0) bytes = ledger.bytes;
    EXPECT_EQ(ledger.bytes, bytes) << "a thread's cache, or what was in it, is lost";
  }
}

TEST(ThreadCachedPool, AsksTheSourceNoMoreThanItsBatchesNeed) {
  SourceLedger ledger;
  CachedPool pool(64, 8, {}, CountingSource{&ledger});
  pool.deallocate(pool.allocate());
  const size_t requests = ledger.requests;
  for (int i = 0; i < 1000; ++i) pool.deallocate(pool.allocate());
  EXPECT_EQ(ledger.requests, requests);
}

TEST(ThreadCachedPool, KeepsNoMoreThanTwoBatchesInAThread) {
  SourceLedger ledger;
  CachedPool pool(64, 8, {}, CountingSource{&ledger});
  std::vector<void*> elements(10000);
  ASSERT_EQ(pool.allocate_batch(elements), elements.size());
  const size_t bytes = ledger.bytes;
  std::atomic<int> step{0};
  // Frees them all, and lives on with what it keeps.
  std::thread other([&] {
    pool.deallocate_batch(elements);
    step = 1;
    step.notify_all();
    step.wait(1);
  });
  step.wait(0);
  ASSERT_EQ(pool.allocate_batch(elements), elements.size());
  EXPECT_LE(ledger.bytes, bytes + 65536);
  step = 2;
  step.notify_all();
  other.join();
  pool.deallocate_batch(elements);
}

TEST(ThreadCachedPool, MayDieBeforeTheThreadsThatUsedIt) {
  SourceLedger ledger;
  // Each with the address and the place of the one before.
  for (int i = 0; i < 50; ++i) {
    CachedPool pool(32, 8, {}, CountingSource{&ledger});
    void* const element = pool.allocate();
    pool.deallocate(element);
    EXPECT_EQ(pool.stats().live, 0u);
  }
  EXPECT_TRUE(ledger.blocks.empty());
}

TEST(ThreadCachedPool, ServesMoreLivingPoolsThanTheTableHasEntriesAtFirst) {
  SourceLedger ledger;
  std::vector<std::unique_ptr<CachedPool>> pools;
  for (int i = 0; i < 40; ++i)
    pools.push_back(std::make_unique<CachedPool>(32, 8, PoolGrowth{}, CountingSource{&ledger}));
  std::vector<void*> elements;
  for (int round = 0; round < 100; ++round)
    for (const auto& pool : pools) elements.push_back(pool->allocate());
  for (size_t i = 0; i < elements.size(); ++i) pools[i % 40]->deallocate(elements[i]);
  for (const auto& pool : pools) {
    EXPECT_EQ(pool->stats().live, 0u);
    EXPECT_STREQ(pool->check(), nullptr);
  }
}

// Pools come and go while threads that have caches of dead ones live on, and of two pools with one place each keeps its
// own elements.
TEST(ThreadCachedPool, ComesAndGoesBesideLivingThreads) {
  SourceLedger ledger;
  std::vector<std::unique_ptr<CachedPool>> pools;
  std::atomic<int> round{0};
  std::atomic<unsigned> done{0};
  constexpr unsigned kThreads = 3;
  constexpr int kRounds = 60;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int seen = 0; seen < kRounds; ++seen) {
        round.wait(seen);
        for (const auto& pool : pools) {
          auto* const item = static_cast<Item*>(pool->allocate());
          stamp(item, t, static_cast<uint64_t>(seen));
          if (seen % 2 != 0) std::this_thread::yield();
          expect_intact(item);
          pool->deallocate(item);
        }
        done.fetch_add(1);
        done.notify_all();
      }
    });
  }
  std::minstd_rand random(1);
  for (int now = 1; now <= kRounds; ++now) {
    while (pools.size() < 30)
      pools.push_back(std::make_unique<CachedPool>(sizeof(Item), 8, PoolGrowth{}, CountingSource{&ledger}));
    round.store(now);
    round.notify_all();
    for (unsigned seen = done.load(); seen != kThreads * static_cast<unsigned>(now); seen = done.load())
      done.wait(seen);
    for (const auto& pool : pools) {
      EXPECT_EQ(pool->stats().live, 0u);
      EXPECT_STREQ(pool->check(), nullptr);
    }
    for (int i = 0; i < 10; ++i) {
      std::swap(pools[random() % pools.size()], pools.back());
      pools.pop_back();
    }
  }
  for (std::thread& thread : threads) thread.join();
  pools.clear();
  EXPECT_TRUE(ledger.blocks.empty());
}

TEST(ThreadCachedPool, ReportsOutOfMemory) {
  SourceLedger ledger;
  ledger.limit = 0;
  CachedPool pool(32, 8, {}, CountingSource{&ledger});
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
  ledger.limit = 1024;
  std::vector<void*> elements(1000);
  const size_t got = pool.allocate_batch(elements);
  EXPECT_EQ(got, pool.stats().capacity);
  elements.resize(got);
  pool.deallocate_batch(elements);
  EXPECT_EQ(pool.stats().live, 0u);
}

template <class Checks>
void free_while_visiting() {
  SourceLedger ledger;
  Pool<void, ThreadCached, Checks, CountingSource> pool(64, 8, {}, CountingSource{&ledger});
  std::vector<void*> elements(1000);  // more than caches hold, so that batches go home meanwhile
  ASSERT_EQ(pool.allocate_batch(elements), elements.size());
  size_t visited = 0;
  pool.for_each_live([&](void* element) {
    if (++visited % 4 != 0) pool.deallocate(element);
  });
  EXPECT_EQ(visited, elements.size());
  EXPECT_EQ(pool.stats().live, elements.size() / 4);
  EXPECT_STREQ(pool.check(), nullptr);
  pool.drop_all();
}
TEST(ThreadCachedPool, LetsVisitedElementsBeFreed) {
  free_while_visiting<Unchecked>();
  free_while_visiting<Checked>();
}

// A thread that says it is done may still be ending, and emptying its caches, when the test looks at the pool.
TEST(ThreadCachedPool, IsLookedAtWhileItsThreadsEnd) {
  SourceLedger ledger;
  CachedPool pool(64, 8, {}, CountingSource{&ledger});
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> done{false};
    std::thread worker([&] {
      pool.deallocate(pool.allocate());
      done.store(true);
    });
    while (!done.load()) std::this_thread::yield();
    pool.for_each_live([](void*) { ADD_FAILURE(); });
    EXPECT_EQ(pool.stats().live, 0u);
    EXPECT_STREQ(pool.check(), nullptr);
    worker.join();
  }
}

struct Message : Pooled<Message, ThreadCached> {
  explicit Message(bool fails = false) {
    if (fails) throw fails;
  }
  uint64_t body = 0;
};

// The operator delete of a constructor that throws asks whether the pool owns the object, in the middle of it all.
TEST(ThreadCachedPool, TakesBackWhatConstructorsRefuseBesideOtherThreads) {
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    std::vector<std::unique_ptr<Message>> messages(50);
    while (!stop.load()) {
      for (auto& message : messages) message = std::make_unique<Message>();
      for (auto& message : messages) message.reset();
    }
  });
  for (int i = 0; i < 20000; ++i) EXPECT_THROW(new (std::nothrow) Message(true), bool);
  stop = true;
  other.join();
  EXPECT_EQ(Message::pool().stats().live, 0u);
  EXPECT_STREQ(Message::pool().check(), nullptr);
}

// Destroyed after the thread's cache is closed, since it was made before that was armed.
struct Outbox {
  std::vector<std::unique_ptr<Message>> messages;
};
TEST(ThreadCachedPool, TakesWhatIsFreedAtTheVeryEndOfAThread) {
  for (int round = 0; round < 3; ++round) {
    in_threads(2, [](unsigned) {
      thread_local Outbox outbox;
      for (int i = 0; i < 100; ++i) outbox.messages.push_back(std::make_unique<Message>());
    });
  }
  // Slots in a cache would count as live.
  Message::pool().release_unused();
  EXPECT_EQ(Message::pool().stats().capacity, 0u);
  EXPECT_STREQ(Message::pool().check(), nullptr);
}

// Many threads that have used an element each, and wait.
TEST(ThreadCachedPool, HoldsLittleForThreadsThatUsedLittle) {
  Pool<void, ThreadCached> pool(32);
  std::atomic<unsigned> ready{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 100; ++i) {
    threads.emplace_back([&] {
      pool.deallocate(pool.allocate());
      ++ready;
      over.wait(false);
    });
  }
  while (ready != 100) std::this_thread::yield();
  const PoolStats stats = pool.running_stats();
  EXPECT_LE(stats.live, 200u);
  EXPECT_LE(stats.bytes, 16384u);
  over = true;
  over.notify_all();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.stats().live, 0u);
  EXPECT_EQ(pool.check(), nullptr);
}

}  // namespace
}  // namespace snug
