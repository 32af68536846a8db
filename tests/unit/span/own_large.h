// Fixtures for tests of the mapping store: a store of the test's own, fresh, or one that has learnt to keep memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "base/atomic.h"
#include "span/mapping_store.h"
#include "span/own_spans.h"

namespace snug::unit {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = size_t{1} << 20;

class FreshMappingStoreTest : public testing::Test {
 protected:
  FreshMappingStoreTest() { set_retention(large.bounds(), kForever); }
  void TearDown() override { expect_sound(); }
  void expect_sound() { EXPECT_STREQ(large.check(), nullptr); }

  char* allocate(size_t size) { return static_cast<char*>(large.allocate({.size = size})); }
  char* allocate_dirty(size_t size) {
    char* block = allocate(size);
    std::memset(block, 0xab, size);
    return block;
  }
  void free(void* block) {
    EXPECT_EQ(large.free(block), LargeFree::kFreed);
    expect_sound();
  }
  size_t kept() { return large.statistics().bytes_kept; }

  MetaArena arena;
  Atomic<size_t> grown{0};
  Footprint footprint{arena};
  MappingStore large{arena, grown, footprint};
};

// A store that has learnt to keep 64 MiB, and is empty.
class MappingStoreTest : public FreshMappingStoreTest {
 protected:
  MappingStoreTest() {
    for (int i = 0; i < 2; ++i) {
      void* blocks[] = {allocate(64 * kMiB), allocate(64 * kMiB)};
      for (void* block : blocks) free(block);
    }
    large.trim(0);
    released_before = large.statistics().bytes_released;
  }
  size_t released() { return large.statistics().bytes_released - released_before; }

  size_t released_before;
};

// A word in each OS page that tells its place.
inline void stamp(char* block, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) std::memcpy(block + at, &at, sizeof at);
}
inline bool is_stamped(const char* block, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096)
    if (std::memcmp(block + at, &at, sizeof at) != 0) return false;
  return true;
}
inline bool is_zero(const char* block, size_t bytes) {
  for (size_t at = 0; at < bytes; ++at)
    if (block[at] != 0) return false;
  return true;
}

}  // namespace snug::unit
