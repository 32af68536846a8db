// Limits on what the process, or a heap of its own, holds, and the callbacks that free memory before a request fails.
#include <gtest/gtest.h>
#include <snug/limits.h>
#include <snug/realtime.h>
#include <snug/snug.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heap/own_heap.h"

namespace snug::own_heap {
namespace {

snug_limits limits() {
  snug_limits now{};
  now.size = sizeof now;
  EXPECT_EQ(snug_get_limits(&now), 0);
  return now;
}

// What a program can do without: blocks of one size, dropped some at a time.
class Cache {
 public:
  explicit Cache(size_t size) : size_(size) {}
  ~Cache() { drop(blocks_.size()); }

  bool add() {
    void* const block = snug_malloc(size_);
    if (block == nullptr) return false;
    std::memset(block, 1, size_);
    blocks_.push_back(block);
    return true;
  }
  size_t drop(size_t most) {
    const size_t dropped = std::min(most, blocks_.size());
    for (size_t i = 0; i != dropped; ++i) {
      snug_free(blocks_.back());
      blocks_.pop_back();
    }
    return dropped;
  }
  size_t size() const { return blocks_.size(); }

 private:
  const size_t size_;
  std::vector<void*> blocks_;
};

struct Shrinker {
  Cache* cache = nullptr;
  std::vector<snug_pressure> seen;
  bool allocates = false;
};

int shrink(const snug_pressure* pressure, void* argument) {
  Shrinker& shrinker = *static_cast<Shrinker*>(argument);
  shrinker.seen.push_back(*pressure);
  if (shrinker.allocates) {
    EXPECT_EQ(snug_malloc(64 * kMiB), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    snug_free(snug_malloc(100));
  }
  return shrinker.cache->drop(64) != 0 ? 1 : 0;
}

class LimitsTest : public OwnHeapTest {
 protected:
  LimitsTest() { snug_malloc_trim(0); }
  ~LimitsTest() override {
    EXPECT_EQ(snug_set("limit:off,soft_limit:off"), 0);
    for (const auto& [callback, argument] : watching_) snug_on_pressure(callback, argument, 0);
  }

  void watch(snug_pressure_callback callback, void* argument, unsigned levels) {
    watching_.emplace_back(callback, argument);
    EXPECT_EQ(snug_on_pressure(callback, argument, levels), 0);
  }

  // So many bytes beyond what is held now.
  static void limit_to(size_t more, size_t soft_more = 0) {
    const uint64_t held = limits().held;
    const std::string soft = soft_more == 0 ? "off" : std::to_string(held + soft_more);
    EXPECT_EQ(snug_set(("limit:" + std::to_string(held + more) + ",soft_limit:" + soft).c_str()), 0);
  }

 private:
  std::vector<std::pair<snug_pressure_callback, void*>> watching_;
};

TEST_F(LimitsTest, ARequestBeyondTheLimitIsRefused) {
  limit_to(8 * kMiB);
  const snug_limits before = limits();
  EXPECT_EQ(before.limit, before.held + 8 * kMiB);
  errno = 0;
  EXPECT_EQ(snug_malloc(9 * kMiB), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  void* const block = snug_malloc(7 * kMiB);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(snug_realloc(block, 12 * kMiB), nullptr);
  EXPECT_EQ(limits().refused, before.refused + 2);
  snug_free(block);
  void* const again = snug_malloc(7 * kMiB);
  EXPECT_NE(again, nullptr) << "what was freed serves the next";
  snug_free(again);
  Cache cache(1000);
  while (cache.add()) {
  }
  EXPECT_GT(cache.size(), size_t{7 * kMiB} / 1024);
  EXPECT_LE(limits().held, before.limit + 64 * kKiB) << "records alone exceed it";
  EXPECT_EQ(snug_malloc(4 * kMiB), nullptr);
  cache.drop(5 * kMiB / 1000);
  void* const large = snug_malloc(4 * kMiB);
  EXPECT_NE(large, nullptr) << "pages of small blocks serve a large one";
  snug_free(large);
}

TEST_F(LimitsTest, CallbacksFreeBeforeARequestFails) {
  Cache cache(10'000);
  Shrinker shrinker{&cache, {}, true};
  limit_to(16 * kMiB);
  const uint64_t refused = limits().refused;
  watch(shrink, &shrinker, SNUG_PRESSURE_HARD);
  for (int i = 0; i != 5000; ++i) ASSERT_TRUE(cache.add()) << i;
  ASSERT_FALSE(shrinker.seen.empty());
  EXPECT_EQ(shrinker.seen[0].level, SNUG_PRESSURE_HARD);
  EXPECT_EQ(shrinker.seen[0].limit, limits().limit);
  EXPECT_GE(shrinker.seen[0].wanted, 10'000u);
  EXPECT_EQ(shrinker.seen[0].heap, nullptr);
  EXPECT_GE(limits().refused, refused + shrinker.seen.size()) << "those of the callback itself";
  shrinker.allocates = false;
  void* const large = snug_malloc(15 * kMiB);
  EXPECT_NE(large, nullptr) << "as often as something is freed";
  EXPECT_LT(cache.size(), 110u);
  snug_free(large);
  EXPECT_EQ(snug_on_pressure(shrink, &shrinker, 0), 0);
}

TEST_F(LimitsTest, BeyondTheSoftLimitTheProgramIsAskedAndServed) {
  Cache cache(10'000);
  Shrinker shrinker{&cache, {}, false};
  limit_to(64 * kMiB, 16 * kMiB);
  const uint64_t refused = limits().refused;
  watch(shrink, &shrinker, SNUG_PRESSURE_SOFT);
  for (int i = 0; i != 5000; ++i) ASSERT_TRUE(cache.add()) << i;
  ASSERT_FALSE(shrinker.seen.empty());
  EXPECT_EQ(shrinker.seen[0].level, SNUG_PRESSURE_SOFT);
  EXPECT_EQ(shrinker.seen[0].limit, limits().soft_limit);
  EXPECT_GT(shrinker.seen[0].held, limits().soft_limit);
  EXPECT_LT(limits().held, limits().soft_limit + 2 * kMiB);
  EXPECT_EQ(limits().refused, refused);
  EXPECT_EQ(snug_on_pressure(shrink, &shrinker, 0), 0);
  const size_t calls = shrinker.seen.size();
  for (int i = 0; i != 500; ++i) ASSERT_TRUE(cache.add());
  EXPECT_EQ(shrinker.seen.size(), calls);
}

int free_nothing(const snug_pressure*, void* argument) {
  ++*static_cast<int*>(argument);
  return 0;
}

TEST_F(LimitsTest, AProgramThatFreesNothingIsAskedForEachPart) {
  int calls = 0;
  Cache cache(10'000);
  limit_to(1024 * kMiB, 32 * kMiB);
  watch(free_nothing, &calls, SNUG_PRESSURE_SOFT);
  while (limits().held < limits().soft_limit * 2) ASSERT_TRUE(cache.add());
  EXPECT_GE(calls, 32);
  EXPECT_LE(calls, 65);
  EXPECT_EQ(snug_on_pressure(free_nothing, &calls, 0), 0);
}

TEST_F(LimitsTest, EightThreadsStayWithinTheLimitTogether) {
  limit_to(24 * kMiB);
  const uint64_t limit = limits().limit;
  std::atomic<bool> exceeded{false};
  std::atomic<size_t> served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t != 8; ++t)
    threads.emplace_back([&, t] {
      std::vector<void*> blocks;
      for (int i = 0; i != 3000; ++i) {
        void* const block = snug_malloc(size_t{1} << (4 + (i + t) % 17));
        if (block != nullptr) served.fetch_add(1);
        if (limits().held > limit + 512 * kKiB) exceeded = true;
        blocks.push_back(block);
        if (blocks.size() > 100) {
          snug_free(blocks[static_cast<size_t>(i) % 100]);
          blocks[static_cast<size_t>(i) % 100] = nullptr;
        }
      }
      for (void* block : blocks) snug_free(block);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_GT(served, 3000u);
}

TEST_F(LimitsTest, ABlockThatGrowsAtTheLimitWantsWhatItLacksAlone) {
  Cache cache(10'000);
  Shrinker shrinker{&cache, {}, false};
  limit_to(64 * kMiB);
  void* const block = snug_malloc(40 * kMiB);
  while (limits().held + 256 * kKiB < limits().limit) ASSERT_TRUE(cache.add());
  const size_t before = cache.size();
  watch(shrink, &shrinker, SNUG_PRESSURE_HARD);
  void* const longer = snug_realloc(block, 44 * kMiB);
  EXPECT_NE(longer, nullptr);
  EXPECT_GT(cache.size(), before / 2);
  snug_free(longer);
}

TEST_F(LimitsTest, ABufferThatGrowsPassesTheSoftLimit) {
  int calls = 0;
  limit_to(256 * kMiB, 48 * kMiB);
  watch(free_nothing, &calls, SNUG_PRESSURE_SOFT);
  void* block = snug_malloc(40 * kMiB);
  for (size_t size = 41; size != 80; ++size) ASSERT_NE(block = snug_realloc(block, size * kMiB), nullptr);
  EXPECT_GE(calls, 10) << "at each step that makes the block longer";
  snug_free(block);
}

TEST_F(LimitsTest, ARequestThatNoHeapCouldServeAsksForNothing) {
  snug_heap* const heap = heap_with("small", 4 * kMiB);
  int calls = 0;
  watch(free_nothing, &calls, SNUG_PRESSURE_HARD);
  EXPECT_EQ(snug_heap_malloc(heap, 5 * kMiB), nullptr);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(LimitsTest, AHeapsOwnLimitsAskForTheHeap) {
  snug_heap_options options = options_of("tenant", 4 * kMiB);
  options.soft_limit = 2 * kMiB;
  snug_heap* const heap = snug_heap_create(&options);
  Cache cache(100);
  Shrinker shrinker{&cache, {}, false};
  watch(shrink, &shrinker, SNUG_PRESSURE_ALL);
  EXPECT_EQ(stats_of(heap).soft_limit, 2 * kMiB);
  std::vector<void*> blocks;
  while (void* const block = snug_heap_malloc(heap, 10'000)) blocks.push_back(block);
  EXPECT_LE(stats_of(heap).peak_held, 4 * kMiB);
  ASSERT_GE(shrinker.seen.size(), 10u);
  EXPECT_EQ(shrinker.seen.front().level, SNUG_PRESSURE_SOFT);
  EXPECT_EQ(shrinker.seen.front().limit, 2 * kMiB);
  EXPECT_EQ(shrinker.seen.back().level, SNUG_PRESSURE_HARD);
  EXPECT_EQ(shrinker.seen.back().limit, 4 * kMiB);
  for (const snug_pressure& seen : shrinker.seen) EXPECT_EQ(seen.heap, heap);
  shrinker.seen.clear();
  EXPECT_EQ(snug_heap_malloc(heap, 3 * kMiB), nullptr);
  EXPECT_EQ(shrinker.seen.size(), 1u);
  EXPECT_EQ(snug_on_pressure(shrink, &shrinker, 0), 0);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

struct Tenant {
  snug_heap* heap;
  std::vector<void*> blocks;
};

int free_of_tenant(const snug_pressure* pressure, void* argument) {
  Tenant& tenant = *static_cast<Tenant*>(argument);
  EXPECT_EQ(pressure->heap, tenant.heap);
  if (tenant.blocks.empty()) return 0;
  for (void* block : tenant.blocks) snug_free(block);
  tenant.blocks.clear();
  return 1;
}

TEST_F(LimitsTest, AHeapAtItsLimitIsServedByWhatACallbackFrees) {
  Tenant tenant{heap_with("tenant", 2 * kMiB), {}};
  watch(free_of_tenant, &tenant, SNUG_PRESSURE_HARD);
  for (int i = 0; i != 2000; ++i) {
    void* const block = snug_heap_malloc(tenant.heap, 5000);
    ASSERT_NE(block, nullptr) << i;
    tenant.blocks.push_back(block);
  }
  void* const large = snug_heap_malloc(tenant.heap, 2 * kMiB - 64 * kKiB);
  EXPECT_NE(large, nullptr);
  snug_free(large);
  EXPECT_EQ(snug_on_pressure(free_of_tenant, &tenant, 0), 0);
  EXPECT_EQ(snug_heap_destroy(tenant.heap), 0);
}

struct Forker {
  int status = -1;
};

int fork_inside(const snug_pressure*, void* argument) {
  Forker& forker = *static_cast<Forker*>(argument);
  if (forker.status != -1) return 0;
  const pid_t child = fork();
  if (child == 0) {
    const bool is_fine = snug_malloc(64 * kMiB) == nullptr && snug_malloc(kMiB) == nullptr && snug_check(1) == nullptr;
    _exit(is_fine ? 0 : 1);
  }
  waitpid(child, &forker.status, 0);
  return 0;
}

TEST_F(LimitsTest, AForkInsideACallbackIsOneOfTheProgram) {
  Forker forker;
  limit_to(8 * kMiB);
  watch(fork_inside, &forker, SNUG_PRESSURE_HARD);
  Cache cache(1000);
  while (cache.add()) {
  }
  EXPECT_EQ(snug_on_pressure(fork_inside, &forker, 0), 0);
  EXPECT_TRUE(WIFEXITED(forker.status));
  EXPECT_EQ(WEXITSTATUS(forker.status), 0);
}

// Its memory is there from the start, locked perhaps: a container counts it.
TEST_F(LimitsTest, TheRegionForDeadlinesCounts) {
  limit_to(16 * kMiB);
  void* const kept = snug_malloc(4 * kMiB);
  void* const empty = snug_malloc(8 * kMiB);
  std::memset(empty, 1, 8 * kMiB);
  snug_free(empty);
  EXPECT_EQ(snug_realtime_begin(13 * kMiB), ENOMEM);
  const uint64_t before = limits().held;
  ASSERT_EQ(snug_realtime_begin(10 * kMiB), 0) << "what is empty goes back for it";
  snug_realtime_stats region{};
  region.size = sizeof region;
  EXPECT_EQ(snug_realtime_get_stats(&region), 0);
  EXPECT_EQ(limits().held, before + region.bytes);
  EXPECT_EQ(snug_malloc(4 * kMiB), nullptr);
  EXPECT_EQ(snug_realtime_begin(kMiB), EALREADY);
  EXPECT_EQ(limits().held, before + region.bytes);
  snug_free(kept);
}

TEST_F(LimitsTest, WrongCallsSaySo) {
  errno = 0;
  EXPECT_EQ(snug_on_pressure(nullptr, nullptr, SNUG_PRESSURE_SOFT), -1);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(snug_on_pressure(shrink, nullptr, 16), -1);
  EXPECT_EQ(errno, EINVAL);
  snug_limits unsized{};
  EXPECT_EQ(snug_get_limits(&unsized), EINVAL);
  EXPECT_EQ(snug_set("limit:0"), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(snug_set("pressure:5"), -1) << "it is read at the start";
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(snug_set("limit:off"), 0);
  EXPECT_EQ(limits().limit, 0u);
}

}  // namespace
}  // namespace snug::own_heap
