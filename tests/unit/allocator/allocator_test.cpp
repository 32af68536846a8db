// How the allocator's parts lie in cache lines: what every thread reads is not in a line that others write.
#include "allocator/allocator.h"

#include <gtest/gtest.h>

#include "base/bits.h"

namespace snug {
namespace {

uintptr_t line_of(const void* word) { return address_of(word) / kCacheLine; }

// A part that begins a line shares none with the one before.
static_assert(alignof(MetaArena) == kCacheLine && alignof(PageMap) == kCacheLine && alignof(SpanStore) == kCacheLine &&
              alignof(SpanStores) == kCacheLine && alignof(MappingStore) == kCacheLine &&
              alignof(HeapRegistry) == kCacheLine && alignof(ArrayStore) == kCacheLine &&
              alignof(ThreadCacheList) == kCacheLine && alignof(BackgroundThread) == kCacheLine);

TEST(StoreLayout, WhatIsReadLiesApartFromWhatIsWritten) {
  for (const void* read : {static_cast<const void*>(&allocator.page_map), static_cast<const void*>(&allocator.spans),
                           static_cast<const void*>(&allocator.registry), static_cast<const void*>(&allocator.caches),
                           static_cast<const void*>(&allocator.table), static_cast<const void*>(&allocator.config)})
    for (const void* written :
         {static_cast<const void*>(&allocator.spans.at(0).lock()), static_cast<const void*>(&allocator.arena.lock()),
          static_cast<const void*>(&allocator.arrays.first().lock()),
          static_cast<const void*>(&allocator.spans.bytes_grown()),
          static_cast<const void*>(&allocator.shared_allocations)})
      EXPECT_NE(line_of(read), line_of(written));
  EXPECT_NE(line_of(&allocator.spans.at(0).lock()), line_of(&allocator.spans.bytes_grown()));
}

}  // namespace
}  // namespace snug
