// How the store's parts lie in cache lines: what every thread reads is not in a line that others write.
#include "heap/store.h"

#include <gtest/gtest.h>

#include "base/bits.h"

namespace snug {
namespace {

uintptr_t line_of(const void* word) { return address_of(word) / kCacheLine; }

// A part that begins a line shares none with the one before.
static_assert(alignof(MetaArena) == kCacheLine && alignof(Window) == kCacheLine &&
              alignof(HugePageGauge) == kCacheLine && alignof(SpanStore) == kCacheLine &&
              alignof(LargeStore) == kCacheLine && alignof(HeapRegistry) == kCacheLine &&
              alignof(ArrayStore) == kCacheLine && alignof(CacheRoster) == kCacheLine &&
              alignof(IdleThread) == kCacheLine);

TEST(StoreLayout, WhatIsReadLiesApartFromWhatIsWritten) {
  for (const void* read : {static_cast<const void*>(&store.window), static_cast<const void*>(&store.spans),
                           static_cast<const void*>(&store.registry), static_cast<const void*>(&store.roster),
                           static_cast<const void*>(&store.table), static_cast<const void*>(&store.config)})
    for (const void* written :
         {static_cast<const void*>(&store.spans.lock()), static_cast<const void*>(&store.arena.lock()),
          static_cast<const void*>(&store.arrays.lock()), static_cast<const void*>(&store.spans.bytes_grown()),
          static_cast<const void*>(&store.shared_allocations)})
      EXPECT_NE(line_of(read), line_of(written));
  EXPECT_NE(line_of(&store.spans.lock()), line_of(&store.spans.bytes_grown()));
}

}  // namespace
}  // namespace snug
