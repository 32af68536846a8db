// The sampled heap profile from the outside, by hooks: each sample is told of once, and comes back once.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include "allocator/allocator.h"
#include "snug/profile.h"
#include "snug/snug.h"

namespace snug {
namespace {

// What the hooks were told.
class Told {
 public:
  static uint64_t sampled(void* self, const snug_sample* sample) {
    Told& told = *static_cast<Told*>(self);
    delete new int;  // hooks may allocate
    const std::lock_guard guard(told.mutex_);
    EXPECT_TRUE(told.live_.insert(sample->block).second);
    told.blocks += sample->weight;
    told.bytes += sample->weight * static_cast<double>(sample->size);
    return reinterpret_cast<uintptr_t>(sample->block) + 1;
  }
  static void freed(void* self, uint64_t tag, void* block) {
    Told& told = *static_cast<Told*>(self);
    EXPECT_EQ(tag, reinterpret_cast<uintptr_t>(block) + 1);
    const std::lock_guard guard(told.mutex_);
    EXPECT_EQ(told.live_.erase(block), 1u);
  }
  size_t live() {
    const std::lock_guard guard(mutex_);
    return live_.size();
  }

  double blocks = 0;
  double bytes = 0;

 private:
  std::mutex mutex_;
  std::set<const void*> live_;
};

class SampledHeapTest : public testing::Test {
 protected:
  void SetUp() override {
    snug_set_sampler(&sampler_);
    ASSERT_EQ(snug_profile_start(4096), 0);
  }
  void TearDown() override {
    snug_profile_stop();
    snug_set_sampler(nullptr);
    EXPECT_EQ(told_->live(), 0u);  // so that no hook is called any more
    EXPECT_EQ(allocator.profile.check(), nullptr);
    EXPECT_EQ(snug_check(0), nullptr);
  }

  const std::unique_ptr<Told> told_ = std::make_unique<Told>();
  const snug_sampler sampler_{told_.get(), Told::sampled, Told::freed};
};

TEST_F(SampledHeapTest, EachSizeIsSampledAsOftenAsItShould) {
  for (const size_t size : {16, 500, 3000, 10000, 60000, 100000, 300000, 1000000}) {
    told_->bytes = 0;
    const double wanted = 4e6 + 400.0 * static_cast<double>(size);
    for (double sum = 0; sum < wanted; sum += static_cast<double>(size)) {
      void* const block = snug_malloc(size);
      ASSERT_NE(block, nullptr);
      memset(block, 1, size);
      snug_free(block);
    }
    EXPECT_NEAR(told_->bytes / wanted, 1, 0.2) << size;
  }
}

TEST_F(SampledHeapTest, ALoopOverOneBlockIsSampled) {
  for (int i = 0; i != 100000; ++i) snug_free(snug_malloc(100));
  EXPECT_NEAR(told_->blocks, 100000, 15000);
}

// What a malloc has not taken by then goes home unsampled, and counts for nothing.
TEST_F(SampledHeapTest, AThreadThatGivesItsCacheBackIsSampledAsOften) {
  for (int i = 0; i != 20000; ++i) {
    for (int block = 0; block != 3; ++block) snug_free(snug_malloc(100));
    snug_thread_idle();
  }
  EXPECT_NEAR(told_->blocks, 60000, 9000);
}

TEST_F(SampledHeapTest, ZeroedBlocksReadAsZero) {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (int round = 0; round != 3; ++round) {
    for (int i = 0; i != 2000; ++i) {
      const size_t size = 1 + static_cast<size_t>(i) * 7 % 9000;
      auto* const block = static_cast<unsigned char*>(snug_calloc(1, size));
      for (size_t b = 0; b != size; ++b) ASSERT_EQ(block[b], 0);
      memset(block, 0xff, size);
      blocks.push_back({block, size});
    }
    for (const auto& [block, size] : blocks) snug_free(block);
    blocks.clear();
  }
}

TEST_F(SampledHeapTest, AlignedBlocksAreAligned) {
  for (size_t alignment = 16; alignment <= 1 << 17; alignment *= 2)
    for (int i = 0; i != 200; ++i) {
      void* const block = snug_aligned_alloc(alignment, 100 + static_cast<size_t>(i));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      EXPECT_GE(snug_malloc_usable_size(block), 100u + static_cast<size_t>(i));
      snug_free(block);
    }
}

TEST_F(SampledHeapTest, ReallocKeepsWhatBlocksHold) {
  for (int i = 0; i != 500; ++i) {
    auto* block = static_cast<char*>(snug_malloc(16));
    memset(block, i, 16);
    for (size_t size = 16; size < 3000000; size = size * 3 + 5) {
      block = static_cast<char*>(snug_realloc(block, size));
      for (int b = 0; b != 16; ++b) ASSERT_EQ(block[b], static_cast<char>(i));
      if (i % 10 != 0 && size > 20000) break;
    }
    block = static_cast<char*>(snug_realloc(block, 40));
    ASSERT_EQ(block[15], static_cast<char>(i));
    snug_free(block);
  }
}

TEST_F(SampledHeapTest, BatchesAreSampled) {
  std::vector<void*> blocks(5000);
  for (int i = 0; i != 10; ++i) {
    ASSERT_EQ(snug_malloc_batch(200, blocks.data(), blocks.size()), blocks.size());
    for (void* block : blocks) memset(block, 2, 200);
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    snug_free_batch(blocks.data(), blocks.size());
  }
  EXPECT_NEAR(told_->blocks, 50000, 8000);
}

TEST_F(SampledHeapTest, UncachedBlocksAreSampled) {
  for (int i = 0; i != 50000; ++i) {
    void* const block = snug_malloc_uncached(200);
    EXPECT_EQ(snug_should_move(block) & ~1, 0);
    snug_free_uncached(block);
  }
  EXPECT_NEAR(told_->blocks, 50000, 8000);
}

TEST_F(SampledHeapTest, ThreadsHandBlocksOver) {
  constexpr int kThreads = 4;
  std::atomic<void*> places[256] = {};
  const auto work = [&](unsigned seed) {
    for (int i = 0; i != 30000; ++i) {
      seed = seed * 1103515245 + 12345;
      const size_t size = 1 + (seed >> 8) % (i % 50 == 0 ? 200000 : 2000);
      void* block = snug_malloc(size);
      memset(block, 3, size < 64 ? size : 64);
      snug_free(places[(seed >> 20) % 256].exchange(block));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != kThreads; ++i) threads.emplace_back(work, i + 1);
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<void*>& place : places) snug_free(place.exchange(nullptr));
}

TEST_F(SampledHeapTest, StartsAndStopsWhileThreadsAllocate) {
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != 3; ++i)
    threads.emplace_back([&ends] {
      std::vector<void*> blocks(100);
      for (size_t n = 0; !ends.load(); ++n) {
        snug_free(blocks[n % 100]);
        blocks[n % 100] = snug_malloc(n % 700);
      }
      for (void* block : blocks) snug_free(block);
    });
  for (int i = 0; i != 60; ++i) {
    snug_profile_stop();
    EXPECT_EQ(snug_profile_distance(), 0u);
    EXPECT_EQ(snug_profile_start(4096), 0);
    const int file = memfd_create("profile", 0);
    EXPECT_EQ(snug_profile_write(file, SNUG_PROFILE_PPROF), 0);
    close(file);
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SampledHeapTest, AChildOfAForkGoesOn) {
  std::vector<void*> blocks;
  for (int i = 0; i != 1000; ++i) blocks.push_back(snug_malloc(100));
  if (const pid_t child = fork(); child == 0) {
    for (void* block : blocks) snug_free(block);
    for (int i = 0; i != 10000; ++i) snug_free(snug_malloc(100));
    _exit(told_->live() == 0 && allocator.profile.check() == nullptr ? 0 : 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (void* block : blocks) snug_free(block);
}

const void* last_sample = nullptr;

void free_a_sample_twice() {
  static constexpr snug_sampler kFinder = {nullptr,
                                           [](void*, const snug_sample* told) {
                                             last_sample = told->block;
                                             return uint64_t{0};
                                           },
                                           nullptr};
  snug_set_sampler(&kFinder);
  while (last_sample == nullptr) static_cast<void>(snug_malloc(100));
  snug_free(const_cast<void*>(last_sample));
  snug_free(const_cast<void*>(last_sample));
}

TEST_F(SampledHeapTest, FreeingASampledBlockTwiceEndsTheProcess) {
  EXPECT_DEATH(free_a_sample_twice(), "already free");
}

TEST(ProfileFunctionsTest, WrongArgumentsAreRefused) {
  EXPECT_EQ(snug_profile_start(1023), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(snug_profile_start((size_t{1} << 30) + 1), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(snug_profile_write(1, 99), -1);
  EXPECT_EQ(errno, EINVAL);
  ASSERT_EQ(snug_profile_start(4096), 0);
  snug_profile_stop();
  EXPECT_EQ(snug_profile_write(-1, SNUG_PROFILE_PPROF), -1);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace snug
