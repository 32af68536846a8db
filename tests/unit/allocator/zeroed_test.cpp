// snug_calloc of blocks with a class: what was never used is not written to, and what was used is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "os/held_pages.h"
#include "snug/snug.h"

namespace {

// Has a class of its own, unlike what other tests of this process ask for.
constexpr size_t kSize = 180000;
constexpr size_t kCount = 300;

class ZeroedTest : public testing::Test {
 protected:
  ZeroedTest() { snug_malloc_trim(0); }
  ~ZeroedTest() override {
    for (unsigned char* const block : blocks) snug_free(block);
  }

  void allocate() {
    for (size_t i = 0; i < kCount; ++i) {
      blocks.push_back(static_cast<unsigned char*>(snug_calloc(1, kSize)));
      ASSERT_NE(blocks.back(), nullptr);
    }
  }
  void release() {
    for (unsigned char* const block : blocks) snug_free(block);
    blocks.clear();
  }
  // OS pages behind the blocks.
  size_t pages() const {
    size_t count = 0;
    for (const unsigned char* const block : blocks) {
      const auto start = reinterpret_cast<uintptr_t>(block) / page * page;
      count += snug::unit::held_pages(reinterpret_cast<const void*>(start), kSize);
    }
    return count;
  }
  bool are_zero() const {
    return std::all_of(blocks.begin(), blocks.end(), [](const unsigned char* block) {
      return std::all_of(block, block + kSize, [](unsigned char byte) { return byte == 0; });
    });
  }

  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char*> blocks;
};

TEST_F(ZeroedTest, WhatWasNeverUsedIsNotWrittenTo) {
  allocate();
  for (unsigned char* const block : blocks) block[kSize / 2] = 1;
  EXPECT_LE(pages(), 4 * kCount);  // of 44 each: one that is touched, two of neighbours, and some that were used before
  for (unsigned char* const block : blocks) block[kSize / 2] = 0;
  EXPECT_TRUE(are_zero());
}

TEST_F(ZeroedTest, WhatWasUsedIs) {
  allocate();
  for (unsigned char* const block : blocks) std::memset(block, 0xa5, kSize);
  // Each third goes first, so that some come out of slabs which have never been empty.
  std::vector<unsigned char*> kept;
  for (size_t i = 0; i < kCount; ++i)
    if (i % 3 == 0)
      snug_free(blocks[i]);
    else
      kept.push_back(blocks[i]);
  blocks.clear();
  allocate();
  EXPECT_TRUE(are_zero());
  for (unsigned char* const block : kept) snug_free(block);
}

TEST_F(ZeroedTest, WhatHasGoneBackIsNotWrittenToEither) {
  allocate();
  for (unsigned char* const block : blocks) std::memset(block, 0xa5, kSize);
  release();
  snug_malloc_trim(0);
  allocate();
  EXPECT_LE(pages(), 4 * kCount);
  EXPECT_TRUE(are_zero());
}

}  // namespace
