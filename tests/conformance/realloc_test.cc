// realloc_test.cc: realloc and reallocarray keep contents across every border of sizes.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

namespace {

constexpr std::uint64_t kSeed = 42;

void* filled(std::size_t size) {
  void* block = subject::malloc(size);
  if (block != nullptr) pattern::fill(block, size, kSeed);
  return block;
}

TEST(Realloc, keeps_contents_between_any_two_sizes) {
  const std::vector<std::size_t> all = sizes::one_of_each();
  for (const std::size_t from : all)
    for (const std::size_t to : all) {
      if (to == 0) continue;
      if (subject::kSanitized && from + to > 4 * sizes::kMiB) continue;
      void* before = filled(from);
      ASSERT_NE(before, nullptr);
      void* after = subject::realloc(before, to);
      ASSERT_NE(after, nullptr) << from << " to " << to;
      ASSERT_TRUE(pattern::intact(after, std::min(from, to), kSeed)) << from << " to " << to;
      if (to >= alignof(std::max_align_t)) {
        ASSERT_TRUE(pattern::aligned(after, alignof(std::max_align_t)));
      }
      ASSERT_GE(subject::malloc_usable_size(after), to);
      pattern::fill(after, to, kSeed + 1);
      subject::free(after);
    }
}

TEST(Realloc, keeps_contents_while_growing_step_by_step) {
  std::size_t size = 1;
  void* block = filled(size);
  while (size < 6 * sizes::kMiB) {
    const std::size_t larger = size + size / 3 + 1;
    block = subject::realloc(block, larger);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(pattern::intact(block, size, kSeed)) << size << " to " << larger;
    pattern::fill(block, larger, kSeed);
    size = larger;
  }
  while (size > 1) {
    const std::size_t smaller = size - size / 4 - 1;
    if (smaller == 0) break;
    block = subject::realloc(block, smaller);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(pattern::intact(block, smaller, kSeed)) << size << " to " << smaller;
    size = smaller;
  }
  subject::free(block);
}

// Growing in place next to live neighbours must not swallow them.
TEST(Realloc, leaves_the_neighbours_alone) {
  struct Block {
    void* address;
    std::size_t size;
  };
  pattern::Random random(3);
  std::vector<Block> blocks(60, Block{nullptr, 0});
  for (int round = 0; round < (subject::kSanitized ? 500 : 5000); ++round) {
    const std::size_t at = random.below(blocks.size());
    Block& block = blocks[at];
    const std::size_t size = random.size(20) + 1;
    block.address = subject::realloc(block.address, size);
    ASSERT_NE(block.address, nullptr);
    ASSERT_TRUE(pattern::intact(block.address, std::min(size, block.size), at)) << block.size << " to " << size;
    block.size = size;
    pattern::fill(block.address, size, at);
  }
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    EXPECT_TRUE(pattern::intact(blocks[at].address, blocks[at].size, at)) << blocks[at].size;
    subject::free(blocks[at].address);
  }
}

TEST(Realloc, of_null_allocates) {
  void* block = subject::realloc(nullptr, 100);
  ASSERT_NE(block, nullptr);
  pattern::fill(block, 100, kSeed);
  subject::free(block);
  void* empty = subject::realloc(nullptr, 0);
  EXPECT_NE(empty, nullptr) << "realloc(NULL, 0) is malloc(0)";
  subject::free(empty);
}

// glibc documents that realloc(p, 0) frees p and returns NULL; others return a new empty block. Programs written on
// Linux rely on the former: a non-NULL result would leak.
TEST(Realloc, to_zero_frees) {
  for (const std::size_t size : {1, 100, 5000, 100000, 3000000}) {
    void* block = filled(size);
    errno = 0;
    void* nothing = subject::realloc(block, 0);
    if (subject::kind() != subject::Kind::kOther) {
      EXPECT_EQ(nothing, nullptr) << size;
      EXPECT_EQ(errno, 0);
    }
    subject::free(nothing);
  }
  if (subject::kind() != subject::Kind::kSnug) return;
  snug_stats before{};
  snug_stats after{};
  ASSERT_TRUE(subject::take_stats(before));
  for (int i = 0; i < 100; ++i) subject::realloc(filled(10000), 0);
  ASSERT_TRUE(subject::take_stats(after));
  EXPECT_LT(after.bytes_in_use, before.bytes_in_use + 10000) << "the blocks were not freed";
}

TEST(Realloc, that_fails_keeps_the_block) {
  for (const std::size_t size : {16, 1000, 100000, 3000000}) {
    void* block = filled(size);
    for (const std::size_t impossible :
         {std::size_t{PTRDIFF_MAX}, std::size_t{PTRDIFF_MAX} - 4096, SIZE_MAX, SIZE_MAX - 4096}) {
      errno = 0;
      ASSERT_EQ(subject::realloc(block, impossible), nullptr) << impossible;
      ASSERT_EQ(errno, ENOMEM);
      ASSERT_TRUE(pattern::intact(block, size, kSeed)) << size;
    }
    subject::free(block);
  }
}

TEST(Realloc, keeps_contents_of_aligned_blocks) {
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{4096}, 64 * sizes::kKiB, 2 * sizes::kMiB})
    for (const std::size_t size : {10, 5000, 300000})
      for (const std::size_t to : {20, 9000, 700000, 3000000}) {
        void* block = subject::aligned_alloc(alignment, size);
        ASSERT_NE(block, nullptr);
        pattern::fill(block, size, kSeed);
        void* after = subject::realloc(block, to);
        ASSERT_NE(after, nullptr);
        ASSERT_TRUE(pattern::intact(after, std::min(size, to), kSeed)) << alignment << ' ' << size << ' ' << to;
        subject::free(after);
      }
}

TEST(Reallocarray, multiplies_and_keeps_contents) {
  SUBJECT_MUST_OWN("reallocarray");
  void* block = subject::reallocarray(nullptr, 30, 10);
  ASSERT_NE(block, nullptr);
  EXPECT_GE(subject::malloc_usable_size(block), 300u);
  pattern::fill(block, 300, kSeed);
  block = subject::reallocarray(block, 3000, 100);
  ASSERT_NE(block, nullptr);
  EXPECT_GE(subject::malloc_usable_size(block), 300000u);
  EXPECT_TRUE(pattern::intact(block, 300, kSeed));
  subject::free(block);
}

TEST(Reallocarray, refuses_overflow_and_keeps_the_block) {
  SUBJECT_MUST_OWN("reallocarray");
  void* block = filled(300);
  for (const auto& [count, size] : {std::pair<std::size_t, std::size_t>{SIZE_MAX, 2},
                                    {2, SIZE_MAX},
                                    {std::size_t{1} << 32, std::size_t{1} << 32},
                                    {SIZE_MAX / 3 + 1, 3},
                                    {(std::size_t{1} << 33) + 1, std::size_t{1} << 31}}) {
    errno = 0;
    ASSERT_EQ(subject::reallocarray(block, count, size), nullptr) << count << " * " << size;
    ASSERT_EQ(errno, ENOMEM);
    ASSERT_TRUE(pattern::intact(block, 300, kSeed));
  }
  subject::free(block);
}

}  // namespace
