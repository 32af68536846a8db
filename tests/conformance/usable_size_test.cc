// usable_size_test.cc: the usable size covers the request, never changes, and may be written in full.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

struct Block {
  void* address;
  std::size_t requested;
  std::size_t usable;
};

// A churn of every size, with remembered frees and trims, while the watched blocks live.
void disturb(std::uint64_t seed) {
  pattern::Random random(seed);
  std::vector<void*> others(300, nullptr);
  for (int round = 0; round < (subject::kSanitized ? 3000 : 30'000); ++round) {
    void*& other = others[random.below(others.size())];
    if (other != nullptr && round % 5 == 0) {
      other = subject::realloc(other, random.size(16) + 1);
    } else {
      subject::free(other);
      other = subject::malloc(random.size(round % 32 == 0 ? 20 : 13));
    }
  }
  for (void* other : others) subject::free(other);
  if (subject::owns("malloc_trim")) subject::malloc_trim(0);
}

TEST(UsableSize, of_null_is_zero) { EXPECT_EQ(subject::malloc_usable_size(nullptr), 0u); }

TEST(UsableSize, covers_every_request) {
  for (const std::size_t size : sizes::every_step()) {
    void* block = subject::malloc(size);
    ASSERT_NE(block, nullptr);
    ASSERT_GE(subject::malloc_usable_size(block), size);
    subject::free(block);
  }
  for (const std::size_t size : sizes::around_powers(16 * sizes::kMiB)) {
    void* block = subject::malloc(size);
    ASSERT_NE(block, nullptr);
    ASSERT_GE(subject::malloc_usable_size(block), size);
    subject::free(block);
  }
}

TEST(UsableSize, is_constant_and_writable_in_full) {
  std::vector<Block> blocks;
  auto watch = [&blocks](void* address, std::size_t requested) {
    ASSERT_NE(address, nullptr);
    blocks.push_back({address, requested, subject::malloc_usable_size(address)});
    ASSERT_GE(blocks.back().usable, requested);
    pattern::fill(address, blocks.back().usable, blocks.size() - 1);
  };
  for (const std::size_t size : sizes::around_powers(subject::kSanitized ? 256 * sizes::kKiB : 2 * sizes::kMiB)) {
    watch(subject::malloc(size), size);
    watch(subject::calloc(1, size), size);
    if (size < 100 * sizes::kKiB) watch(subject::aligned_alloc(256, size), size);
    if (size < 100 * sizes::kKiB) watch(subject::realloc(subject::malloc(10), size + 1), size + 1);
  }
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    disturb(seed);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_EQ(subject::malloc_usable_size(blocks[i].address), blocks[i].usable) << blocks[i].requested;
      ASSERT_TRUE(pattern::intact(blocks[i].address, blocks[i].usable, i)) << blocks[i].requested;
    }
  }
  for (const Block& block : blocks) subject::free(block.address);
}

// Two blocks of one request have one usable size: programs that ask once (Redis) add it up for all.
TEST(UsableSize, wastes_little) {
  SUBJECT_MUST_BE_SNUG();
  for (std::size_t size = 128; size <= 16 * sizes::kMiB; size += size / 7 + 1) {
    void* block = subject::malloc(size);
    // 4 classes a doubling waste at most a quarter; large blocks at most an OS page or so.
    EXPECT_LE(subject::malloc_usable_size(block), size + size / 4 + 4096) << size;
    subject::free(block);
  }
}

}  // namespace
