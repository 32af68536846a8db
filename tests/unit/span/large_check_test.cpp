// What the mapping store's check() sees: each part of what its header states, broken on purpose.
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "base/units.h"
#include "span/own_large.h"

namespace snug {
namespace {

class LargeCheckTest : public unit::FreshMappingStoreTest {
 protected:
  // Records lie in the arena, and begin with where their blocks do.
  MappedBlock& record_of(const void* start) {
    MappedBlock* found = nullptr;
    arena.for_each_mapping([&](uintptr_t first, uintptr_t end) {
      for (uintptr_t place = first; place + sizeof(MappedBlock) <= end; place += kCacheLine)
        if (at<MappedBlock>(place)->start == address_of(start)) found = at<MappedBlock>(place);
    });
    if (found == nullptr) std::abort();
    return *found;
  }
  template <class T>
  void expect_told(T& word, T planted, const char* told) {
    const T right = std::exchange(word, planted);
    EXPECT_STREQ(large.check(), told);
    word = right;
  }

  static constexpr const char* kLive =
      "mapping store: a live block's lengths are out of order, or the index does not find it";
  static constexpr const char* kCounts = "mapping store: the byte counts are wrong";
};

TEST_F(LargeCheckTest, LiveBlocks) {
  const char* const block = allocate(4 * unit::kMiB);
  MappedBlock& record = record_of(block);
  expect_told(record.usable, record.written + 1, kLive);
  expect_told(record.written, record.writable + 1, kLive);
  expect_told(record.start, record.start + 4096, kLive);
  expect_told(record.usable, record.usable - 4096, kCounts);
  const auto [first, end] = large.index_range();
  for (uintptr_t slot = first; slot < end; slot += sizeof(LargeIndex::Slot))
    if (at<LargeIndex::Slot>(slot)->block.load() == &record) expect_told(*at<uintptr_t>(slot), uintptr_t{0}, kCounts);
}

TEST_F(LargeCheckTest, WhatIsKept) {
  const char* const live = allocate(4 * unit::kMiB);
  char* const kept = allocate(8 * unit::kMiB);
  MappedBlock& record = record_of(kept);
  free(kept);
  ASSERT_NE(this->kept(), 0u);
  expect_told(record.is_kept, false, "mapping store: what the cache holds does not count as kept");
  expect_told(record.start, record_of(live).start, "mapping store: a free mapping is in the index");
  expect_told(record.written, record.written - 4096, kCounts);
  expect_told(record.mapped, record.mapped + 4096, kCounts);
  expect_told(record.usable, size_t{4096}, "mapping store: the cache holds a live block");
}

TEST_F(LargeCheckTest, Tails) {
  void* const block = allocate(8 * unit::kMiB);
  ASSERT_EQ(large.resize(block, 7 * unit::kMiB), block);
  ASSERT_EQ(this->kept(), 1 * unit::kMiB);
  MappedBlock& record = record_of(block);
  expect_told(record.is_kept, false, "mapping store: what has a tail is free, or does not count as kept");
  expect_told(record.written, record.written - 4096, kCounts);
}

}  // namespace
}  // namespace snug
