// calloc_test.cc: calloc's memory is zero, above all where its last owner left it dirty.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr int kDirt = 0xA5;

TEST(Calloc, is_zeroed_when_fresh) {
  for (const std::size_t size : sizes::one_of_each()) {
    void* block = subject::calloc(1, size);
    ASSERT_NE(block, nullptr) << size;
    ASSERT_TRUE(pattern::zeroed(block, size)) << size;
    subject::free(block);
  }
}

// The dirtied blocks are freed all together, so that caches, slabs and spans all recycle; then come back as calloc's.
void expect_zeroed_after_dirt(std::size_t size, std::size_t count) {
  std::vector<void*> blocks(count);
  for (int round = 0; round < 3; ++round) {
    for (void*& block : blocks) {
      block = subject::malloc(size);
      ASSERT_NE(block, nullptr);
      std::memset(block, kDirt, size);
    }
    for (void* block : blocks) subject::free(block);
    for (void*& block : blocks) {
      block = subject::calloc(size, 1);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(pattern::zeroed(block, size)) << "size " << size << " round " << round;
      std::memset(block, kDirt, size);
    }
    for (void* block : blocks) subject::free(block);
  }
}

TEST(Calloc, is_zeroed_on_dirty_small_memory) {
  for (const std::size_t size : {1, 8, 16, 24, 48, 64, 100, 256, 500, 1000, 1024}) expect_zeroed_after_dirt(size, 2000);
}

TEST(Calloc, is_zeroed_on_dirty_medium_memory) {
  for (const std::size_t size : {1500, 4000, 4096, 8192, 20000, 32768, 65536, 100000, 131072})
    expect_zeroed_after_dirt(size, 50);
}

TEST(Calloc, is_zeroed_on_dirty_large_memory) {
  for (const std::size_t size : {131073, 200000, 262144, 600000, 1048576, 1500000}) expect_zeroed_after_dirt(size, 6);
}

TEST(Calloc, is_zeroed_on_dirty_huge_memory) {
  for (const std::size_t size : {4194304, 10000000, 40000000}) expect_zeroed_after_dirt(size, 2);
}

// Knowledge of zeroed memory must not outlive a change of size: dirt of one size, calloc of another.
TEST(Calloc, is_zeroed_on_dirt_of_other_sizes) {
  pattern::Random random(7);
  for (int round = 0; round < (subject::kSanitized ? 20 : 200); ++round) {
    std::vector<void*> dirty;
    for (int i = 0; i < 40; ++i) {
      const std::size_t size = random.size(19);
      dirty.push_back(subject::malloc(size));
      std::memset(dirty.back(), kDirt, size);
    }
    for (void* block : dirty) subject::free(block);
    for (int i = 0; i < 40; ++i) {
      const std::size_t size = random.size(19);
      void* block = subject::calloc(1, size);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(pattern::zeroed(block, size)) << size;
      subject::free(block);
    }
  }
}

// A purge makes memory zero again; a purge believed in but not made would show here.
TEST(Calloc, is_zeroed_after_trim) {
  SUBJECT_MUST_OWN("malloc_trim");
  for (const std::size_t size : {64, 4096, 100000, 1000000, 10000000}) {
    void* dirty = subject::malloc(size);
    std::memset(dirty, kDirt, size);
    subject::free(dirty);
    subject::malloc_trim(0);
    void* block = subject::calloc(1, size);
    ASSERT_TRUE(pattern::zeroed(block, size)) << size;
    std::memset(block, kDirt, size);
    subject::free(block);
  }
}

// A block grown by realloc, dirtied in its new part, freed: the whole must be zeroed again. More than once, as the
// first block to be freed need not be the next to be had.
TEST(Calloc, is_zeroed_where_realloc_grew) {
  for (int round = 0; round < 4; ++round) {
    for (const std::size_t size : {1000, 100000, 1000000, 8000000}) {
      void* grown = subject::realloc(subject::calloc(1, size), size * 2);
      ASSERT_NE(grown, nullptr);
      std::memset(grown, kDirt, size * 2);
      void* shrunk = subject::realloc(grown, size / 2);
      subject::free(shrunk);
      void* block = subject::calloc(2, size);
      ASSERT_TRUE(pattern::zeroed(block, size * 2)) << size;
      subject::free(block);
    }
  }
}

TEST(Calloc, of_nothing_is_unique_and_freeable) {
  for (const auto& [count, size] :
       {std::pair<std::size_t, std::size_t>{0, 0}, {0, 8}, {8, 0}, {0, SIZE_MAX}, {SIZE_MAX, 0}}) {
    void* first = subject::calloc(count, size);
    void* second = subject::calloc(count, size);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_NE(first, second);
    subject::free(first);
    subject::free(second);
  }
}

TEST(Calloc, multiplies) {
  for (const auto& [count, size] : {std::pair<std::size_t, std::size_t>{3, 5}, {100, 100}, {1, 70000}, {4096, 1025}}) {
    void* block = subject::calloc(count, size);
    ASSERT_NE(block, nullptr);
    EXPECT_GE(subject::malloc_usable_size(block), count * size);
    std::memset(block, kDirt, count * size);
    subject::free(block);
  }
}

}  // namespace
