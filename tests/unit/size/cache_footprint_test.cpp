// What a thread's cache takes besides blocks, of which document S1 says that Dense's fits an OS page of 4096 bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "size/class_table.h"
#include "thread/array_store.h"
#include "thread/thread_cache.h"
#include "thread/thread_state.h"

namespace snug {
namespace {

constexpr size_t kOsPage = 4096;

// The heads and the cache's record have a place for each class that any map may have: they do not depend on the map.
constexpr size_t kHeader = sizeof(ThreadState) + sizeof(ThreadCache);
static_assert(kHeader <= kOsPage, "the whole header of a thread's cache fits an OS page");

// Bytes of the arrays of a thread that has filled the cache of every class.
constexpr size_t array_bytes(const ClassTable& table) {
  size_t bytes = 0;
  for (size_t c = 1; c < table.count; ++c)
    bytes += std::max(std::bit_ceil(size_t{table.classes[c].cached_max}), ArrayStore::kLeastPlaces) * sizeof(void*);
  return bytes;
}

// The arrays come one by one, as classes are used, and none is shorter than 16 places: where every class is used they
// are beyond the page, though Dense needs 144 places only.
TEST(CacheFootprint, OfDenseAndDefault) {
  RecordProperty("header", static_cast<int>(kHeader));
  RecordProperty("dense_arrays", static_cast<int>(array_bytes(kDenseTable)));
  RecordProperty("default_arrays", static_cast<int>(array_bytes(kRoomyTable)));
  EXPECT_EQ(array_bytes(kDenseTable), 52 * ArrayStore::kLeastPlaces * sizeof(void*));
  EXPECT_LE(array_bytes(kDenseTable), 2 * kOsPage);
  EXPECT_GT(array_bytes(kRoomyTable), 10 * array_bytes(kDenseTable));
}

}  // namespace
}  // namespace snug
