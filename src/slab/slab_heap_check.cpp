// SlabHeap's invariant (slab/slab_heap.h) against its slabs, one by one.
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"

namespace snug {

const char* SlabHeap::check_slab(const Slab& slab, size_t size_class) const {
  if (const char* broken = slab.check(is_shared_); broken != nullptr) return broken;
  if (is_shared_ && slab.full && slab.has_group(registry_.table().classes[size_class].line_group))
    return "slab heap: a full slab has blocks to give";
  if (slab.owner != id_ || slab.size_class != size_class) return "slab heap: a slab belongs elsewhere";
  const PageMap& page_map = registry_.page_map();
  for (uint32_t i = 0; i < slab.span->pages.value; ++i) {
    const PageId page = slab.span->first + PageCount{i};
    if (page_map.entry(page).record<Slab>() != &slab || page_map.entry(page).owner() != id_ ||
        page_map.class_at(page.value) != scaled(size_class))
      return "slab heap: a page's tag or class does not name its slab";
  }
  return nullptr;
}

const char* SlabHeap::check_listed(const Slab& slab, size_t size_class) const {
  if (const char* broken = check_slab(slab, size_class); broken != nullptr) return broken;
  return slab.full ? "slab heap: a full slab is in a list" : nullptr;
}

const char* SlabHeap::check() const {
  size_t all_slabs = 0;
  size_t empty_bytes = 0;
  size_t out_bytes = 0;
  for (size_t c = 0; c < kMaxClasses; ++c) {
    const Bin& bin = bins_[c];
    size_t listed = 0;
    size_t out = 0;
    for (const Slab* slab = bin.partial.front(); slab != nullptr; slab = SlabList::next(slab), ++listed) {
      if (const char* broken = check_listed(*slab, c); broken != nullptr) return broken;
      if (slab->used() == 0) return "slab heap: an empty slab is among the partial ones";
      out += slab->used();
    }
    for (const Slab* slab = bin.empty.front(); slab != nullptr; slab = SlabList::next(slab), ++listed) {
      if (const char* broken = check_listed(*slab, c); broken != nullptr) return broken;
      if (slab->used() != 0) return "slab heap: a slab with live blocks is among the empty ones";
      empty_bytes += slab->span->pages.bytes();
    }
    const size_t slabs = bin.slabs.get();
    if (slabs != listed + bin.full_slabs.get()) return "slab heap: the count of a class's slabs is wrong";
    // Those in no list are full, but for lone blocks in shared ones.
    const size_t most = out + bin.full_slabs.get() * registry_.table().classes[c].blocks_per_slab;
    if (is_shared_ ? bin.out.get() > most : bin.out.get() != most)
      return "slab heap: the count of a class's blocks is wrong";
    all_slabs += slabs;
    out_bytes += bin.out.get() * registry_.table().classes[c].block_size;
  }
  if (all_slabs != slab_count_.get() || empty_bytes != empty_bytes_) return "slab heap: the counts of slabs are wrong";
  if (out_bytes != out_bytes_) return "slab heap: the bytes that are out are not those of the blocks";
  return nullptr;
}

}  // namespace snug
