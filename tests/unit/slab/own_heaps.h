// OwnHeaps: a heap registry of a test's own, over spans of its own.
#pragma once

#include <algorithm>
#include <vector>

#include "size/class_table.h"
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"
#include "span/own_spans.h"

namespace snug::unit {

struct OwnHeaps : OwnSpans {
  HeapRegistry registry{arena, stores};

  explicit OwnHeaps(const ClassTable& table = kRoomyTable) {
    if (!registry.open(table)) ADD_FAILURE() << "the OS refuses a registry";
  }

  const SizeClass& sizes(size_t size_class) const { return registry.table().classes[size_class]; }
  size_t free_bytes() { return spans.statistics().bytes_free; }
  size_t chunk_bytes() { return spans.statistics().chunks * kChunkSize; }

  // A refill of up to `count` blocks, in the order in which a cache would hand them out.
  static size_t refill(SlabHeap& heap, size_t size_class, void** out, size_t count) {
    std::vector<void*> array(count);
    const SlabHeap::Hold hold(heap);
    const size_t got = heap.refill(size_class, array.data() + count, count);
    std::reverse_copy(array.end() - static_cast<ptrdiff_t>(got), array.end(), out);
    return got;
  }
  // `count` blocks of the class, however many refills that takes.
  static std::vector<void*> take(SlabHeap& heap, size_t size_class, size_t count) {
    std::vector<void*> blocks(count);
    for (size_t got = 0; got < count;) {
      const size_t more = refill(heap, size_class, blocks.data() + got, count - got);
      if (more == 0) {
        ADD_FAILURE() << "the OS refuses memory";
        break;
      }
      got += more;
    }
    return blocks;
  }
  static void give(SlabHeap& heap, size_t size_class, const std::vector<void*>& blocks) {
    const SlabHeap::Hold hold(heap);
    heap.flush(size_class, blocks.data(), blocks.size());
  }
  // The heap's thread comes by.
  static void open_mail(SlabHeap& heap) {
    const SlabHeap::Hold hold(heap);
    heap.open_all_mail();
  }
};

}  // namespace snug::unit
