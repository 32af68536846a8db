// compact_heap.h: a heap that moves its blocks, so that free memory is never scattered; a program holds handles.
//
//   snug::CompactHeap heap;
//   snug::Handle<Point> point = heap.make<Point>(1, 2);
//   heap[point].x = 3;                        // checked; the address is good until the next call that moves
//   {
//     snug::Section section(heap);            // nothing moves in here:
//     section[point].y = 4;                   // so this is unchecked
//   }
//   snug::Pinned pin = heap.pin(point);       // it stays where it is
//   heap.destroy(point);                      // after pin.reset(), that is
//   heap.compact(std::chrono::microseconds(100));
//
// Of each size at most `not_full` pages have a free block: a free that would leave one more moves a block into the
// hole, so that the heap takes hardly more than its live blocks, whatever the program has done before.
// docs/compact-heap.md has the bound, the costs, and when not to use it.
//
//   snug/compact/basic_compact_heap.h   CompactHeap, Section
//   snug/compact/pinned.h               Pinned
//   snug/compact/shared_compact_heap.h  SharedCompactHeap, CompactReader, SharedSection: for several threads
//   snug/compact/compact_heap_core.h    what both kinds of heap have: bytes, statistics, options
//   snug/compact/handle.h               Handle
//   snug/compact/relocation.h           which types it can hold, and how a type says how it is moved
//   snug/compact/building.h             how containers make their elements
//   snug/compact/compact_vector.h       CompactVector, an array that grows
//   snug/compact/compact_string.h       CompactString
//   snug/compact/compact_map.h          CompactMap, a hash map
//
// Header-only over the C interface (snug/compact_heap_c.h), which libsnug.so and libsnug.a have. Only one thread at a
// time may use a CompactHeap. Sizes are in bytes. A misuse that is found ends the process with one line: a handle that
// names no live block, a call that may move blocks inside a section, freeing a pinned block.
#pragma once

#include "snug/compact/basic_compact_heap.h"
#include "snug/compact/compact_map.h"
#include "snug/compact/compact_string.h"
#include "snug/compact/compact_vector.h"
#include "snug/compact/handle.h"
#include "snug/compact/pinned.h"
#include "snug/compact/relocation.h"
#include "snug/compact/shared_compact_heap.h"
