// region_heap.h: what the tests of heaps in a region of the caller's share.
#pragma once

#include <sys/mman.h>

#include <vector>

#include "heap/own_heap.h"

namespace snug::own_heap {

inline constexpr size_t kUnit = SNUG_HEAP_REGION_UNIT;

inline snug_heap_options in(void* region, size_t bytes, unsigned flags = 0) {
  snug_heap_options options = options_of("in a region", 0, flags);
  options.region = region;
  options.region_bytes = bytes;
  return options;
}
inline snug_heap* heap_in(void* region, size_t bytes, unsigned flags = 0) {
  const snug_heap_options options = in(region, bytes, flags);
  return snug_heap_create(&options);
}
// Expects that the heap is refused.
inline void expect_refusal(const snug_heap_options& options, int error) {
  errno = 0;
  EXPECT_EQ(snug_heap_create(&options), nullptr) << options.region << " " << options.region_bytes;
  EXPECT_EQ(errno, error) << options.region << " " << options.region_bytes;
}

// Memory of the test's own: 64 MiB.
class RegionTest : public OwnHeapTest {
 protected:
  static constexpr size_t kBytes = 64 * kMiB;

  void SetUp() override {
    mapped_ = mmap(nullptr, kBytes + kUnit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped_, MAP_FAILED);
    region_ = static_cast<char*>(mapped_) + (kUnit - reinterpret_cast<uintptr_t>(mapped_) % kUnit) % kUnit;
    heap_ = heap_in(region_, kBytes);
    ASSERT_NE(heap_, nullptr);
  }
  void TearDown() override {
    OwnHeapTest::TearDown();
    EXPECT_EQ(snug_heap_destroy(heap_), 0);
    EXPECT_EQ(munmap(mapped_, kBytes + kUnit), 0);
    OwnHeapTest::TearDown();
  }

  // Ends the heap of the whole region, for others.
  void end_heap() {
    EXPECT_EQ(snug_heap_destroy(heap_), 0);
    heap_ = nullptr;
  }
  bool is_inside(const void* block, size_t size) const {
    const char* const start = static_cast<const char*>(block);
    return start >= region_ && start + size <= region_ + kBytes;
  }
  // How many blocks of the size there is room for; they are freed again.
  static size_t room_for(snug_heap* heap, size_t size) {
    std::vector<void*> blocks;
    while (void* const block = snug_heap_malloc(heap, size)) blocks.push_back(block);
    EXPECT_EQ(errno, ENOMEM);
    for (void* block : blocks) snug_free(block);
    return blocks.size();
  }

  void* mapped_ = nullptr;
  char* region_ = nullptr;
  snug_heap* heap_ = nullptr;
};

}  // namespace snug::own_heap
