// LargeOwners: what its check sees of records that were written over.
#include <gtest/gtest.h>

#include <iterator>

#include "base/bits.h"
#include "base/units.h"
#include "heap/large_owners.h"

namespace snug {
namespace {

TEST(LargeOwnersTest, ChecksItsChainsAndTheirCount) {
  MetaArena arena;
  LargeOwners owners(arena);
  EXPECT_EQ(owners.check(), nullptr);
  HeapLarge* records[20000];  // several in a chain
  for (size_t i = 0; i != std::size(records); ++i) {
    records[i] = owners.make();
    ASSERT_NE(records[i], nullptr);
    records[i]->start = at<void>((i + 1) * kChunkSize);
    owners.insert(records[i]);
  }
  EXPECT_EQ(owners.check(), nullptr);
  for (HeapLarge* const record : records) {
    void* const start = record->start;
    record->start = at<void>(address_of(start) + kPageSize);
    ASSERT_NE(owners.check(), nullptr);
    record->start = start;
    if (record->next == nullptr) continue;
    HeapLarge* const next = record->next;
    record->next = nullptr;
    ASSERT_NE(owners.check(), nullptr);
    record->next = record;
    ASSERT_NE(owners.check(), nullptr);
    record->next = next;
    break;
  }
  for (HeapLarge* const record : records) {
    ASSERT_EQ(owners.take(record->start), record);
    owners.recycle(record);
  }
  EXPECT_EQ(owners.check(), nullptr);
  EXPECT_EQ(owners.size(), 0u);
}

}  // namespace
}  // namespace snug
