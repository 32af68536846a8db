// HeapSlab: a slab of a user heap: a span cut into blocks of one class, its record with the heap before it.
//
//   record    [ heap ][ Slab ][ free: a bit a block ]
//
// Of its pages the window says no class, so that no thread's array takes a block of them for one of malloc's; their
// entries name the record.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "slab/slab.h"
#include "span/page_map.h"

namespace snug {

class UserHeap;

struct HeapSlab {
  UserHeap* heap = nullptr;
  Slab slab;  // last: its bits follow

  static constexpr size_t kMostWords = kMaxBlocksPerSlab / 64;
  static constexpr size_t record_bytes(size_t words) {
    return round_up(sizeof(HeapSlab) + words * sizeof(uint64_t), kCacheLine);
  }

  static HeapSlab& of(Slab& slab) { return *at<HeapSlab>(address_of(&slab) - offsetof(HeapSlab, slab)); }
  // The slab of a user heap that the address lies in, or null. Any thread: the block must be live, or no block of such
  // a heap, or the answer may change at once.
  static HeapSlab* at_address(const PageMap& map, const void* address) {
    return map.record_at<HeapSlab>(address, PageEntry::kOfUserHeap);
  }
};
static_assert(sizeof(HeapSlab) == offsetof(HeapSlab, slab) + sizeof(Slab), "the bits of the slab follow it");

}  // namespace snug
