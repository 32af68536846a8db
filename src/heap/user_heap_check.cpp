// UserHeap's invariant.
#include "heap/user_heap.h"

namespace snug {

const char* UserHeap::check_slab(const Slab& slab, size_t size_class) const {
  if (slab.size_class != size_class) return "user heap: a slab is in the list of another class";
  if (HeapSlab::of(const_cast<Slab&>(slab)).heap != this) return "user heap: a slab is another heap's";
  if (slab.full == slab.has_blocks() && !is_visited()) return "user heap: a slab is in the wrong list";
  for (uint32_t i = 0; i != slab.span->pages.value; ++i) {
    const HeapSlab* const named = slab_at(slab.start + PageCount{i}.bytes());
    if (named == nullptr || &named->slab != &slab) return "user heap: a page does not lead to its slab";
  }
  return slab.check(is_visited());
}

// While it is visited, what comes home leaves slabs in the lists that they were in.
const char* UserHeap::check() const {
  if (const char* broken = records_.check(); broken != nullptr) return broken;
  size_t slab_bytes = 0;
  size_t blocks = 0;
  size_t bytes = 0;
  for (size_t c = 1; c < parts_.table->count; ++c) {
    const Bin& bin = bins_[c];
    if (c >= end_of_classes_ && bin.slabs != 0) return "user heap: a class beyond the last has a slab";
    size_t out = 0;
    size_t slabs = 0;
    const SlabList* const lists[] = {&bin.partial, &bin.full};
    for (const SlabList* list : lists)
      for (const Slab* slab = list->front(); slab != nullptr; slab = SlabList::next(slab), ++slabs) {
        if ((list == &bin.full) != slab->full) return "user heap: a slab is in the wrong list";
        if (slab->used() == 0 && bin.partial.front() != bin.partial.back() && !is_visited())
          return "user heap: an empty slab is kept beside another";
        if (const char* broken = check_slab(*slab, c); broken != nullptr) return broken;
        out += slab->used();
        slab_bytes += slab->span->pages.bytes();
      }
    if (slabs != bin.slabs) return "user heap: the count of a class's slabs is wrong";
    blocks += out;
    bytes += out * parts_.table->classes[c].block_size;
  }
  if (blocks != blocks_out_ || bytes != bytes_out_) return "user heap: the count of blocks out is wrong";
  if (slab_bytes != slab_bytes_) return "user heap: the bytes of slabs are wrong";
  size_t large_bytes = 0;
  size_t large_blocks = 0;
  for (const HeapLarge* large = larges_.front(); large != nullptr; large = LargeList::next(large), ++large_blocks) {
    if (large->heap != this) return "user heap: a large block is another heap's";
    large_bytes += large->bytes;
  }
  if (large_bytes != large_bytes_ || large_blocks != large_blocks_)
    return "user heap: the sum of large blocks is wrong";
  if (region_.is_there()) {
    if (region_.bytes_taken() != held_) return "user heap: the pages of its region that are taken are not those held";
    if (const char* broken = region_.check(); broken != nullptr) return broken;
  }
  if (slab_bytes + large_bytes > peak_held_) return "user heap: it has held more than its peak";
  return slab_bytes + large_bytes > held_ || held_ > limits_.most ? "user heap: the bytes held are wrong" : nullptr;
}

}  // namespace snug
