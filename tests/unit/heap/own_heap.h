// own_heap.h: what the tests of heaps of one's own share.
#pragma once

#include <gtest/gtest.h>
#include <snug/heap.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "pattern.h"
#include "sanitized.h"

namespace snug::own_heap {

using ::support::kSanitized;

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;
// Tiny, small, medium, both sides of the largest class, large, and with a mapping of its own.
inline constexpr size_t kSizes[] = {0,        1,         15,         16,         17,       1000,
                                    4 * kKiB, 32 * kKiB, 256 * kKiB, 257 * kKiB, 3 * kMiB, 40 * kMiB};

inline snug_heap_stats stats_of(snug_heap* heap) {
  snug_heap_stats stats{};
  EXPECT_EQ(snug_heap_get_stats(heap, &stats), 0);
  return stats;
}
inline snug_stats process_stats() {
  snug_stats stats{};
  snug_get_stats(&stats);
  return stats;
}

inline snug_heap_options options_of(const char* name, size_t limit = 0, unsigned flags = 0) {
  snug_heap_options options{};
  options.size = sizeof options;
  options.name = name;
  options.limit = limit;
  options.flags = flags;
  return options;
}
inline snug_heap* heap_with(const char* name, size_t limit = 0, unsigned flags = 0) {
  const snug_heap_options options = options_of(name, limit, flags);
  return snug_heap_create(&options);
}

// A block that is known by what stands in it.
struct Block {
  void* address = nullptr;
  size_t size = 0;
  uint64_t seed = 0;

  bool is_whole() const { return address != nullptr && pattern::intact(address, size, seed); }
};
inline Block filled(void* address, size_t size, uint64_t seed) {
  if (address != nullptr) pattern::fill(address, size, seed);
  return {address, size, seed};
}
inline Block make(snug_heap* heap, size_t size, uint64_t seed) {
  return filled(snug_heap_malloc(heap, size), size, seed);
}
// Frees the block; whether it was whole.
inline bool destroy(const Block& block) {
  const bool whole = block.is_whole();
  snug_free(block.address);
  return whole;
}

// Each test leaves every structure whole.
class OwnHeapTest : public testing::Test {
 protected:
  void TearDown() override {
    const char* const broken = snug_check(1);
    EXPECT_EQ(broken, nullptr) << broken;
  }
};

// One heap, which is destroyed at the end.
class OneHeapTest : public OwnHeapTest {
 protected:
  void SetUp() override {
    heap_ = snug_heap_create(nullptr);
    ASSERT_NE(heap_, nullptr);
  }
  void TearDown() override {
    OwnHeapTest::TearDown();
    EXPECT_EQ(snug_heap_destroy(heap_), 0);
    OwnHeapTest::TearDown();
  }

  snug_heap* heap_ = nullptr;
};

}  // namespace snug::own_heap
