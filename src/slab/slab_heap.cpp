#include "slab/slab_heap.h"

#include "slab/heap_registry.h"

namespace snug {

SlabHeap::SlabHeap(HeapRegistry& registry, uint16_t id, uint8_t home)
    : id_(id), home_(home), registry_(registry), slabs_(registry.arena()) {}

void SlabHeap::insert(Slab* slab) {
  Bin& bin = bins_[slab->size_class];
  slab->owner = id_;
  set_entries(*slab);
  bin.slabs.add(1);
  slab_count_.add(1);
  slab_bytes_ += slab->span->pages.bytes();
  count_out(slab->size_class, slab->used());
  if (slab->used() != 0) {
    bin.partial.push_front(slab);
  } else {
    bin.empty.push_front(slab);
    empty_bytes_ += slab->span->pages.bytes();
  }
}

void SlabHeap::set_entries(const Slab& slab) {
  PageMap& page_map = registry_.page_map();
  const PageEntry entry = PageEntry::owned(&slab, slab.owner);
  for (uint32_t i = 0; i < slab.span->pages.value; ++i) {
    const PageId page = slab.span->first + PageCount{i};
    page_map.set_entry(page, entry);
    page_map.set_class(page, scaled(slab.size_class));
  }
}

void SlabHeap::count_out(size_t size_class, size_t blocks) {
  bins_[size_class].out.add(blocks);
  out_bytes_ += blocks * registry_.table().classes[size_class].block_size;
}

void SlabHeap::count_home(size_t size_class, size_t blocks) {
  bins_[size_class].out.subtract(blocks);
  out_bytes_ -= blocks * registry_.table().classes[size_class].block_size;
}

void SlabHeap::set_full(Slab& slab) {
  Bin& bin = bins_[slab.size_class];
  bin.partial.remove(&slab);
  bin.full_slabs.add(1);
  slab.full = true;
}

// Puts a slab that was full and has a block again, or that has become empty, into its new list.
void SlabHeap::relist(Slab& slab) {
  Bin& bin = bins_[slab.size_class];
  if (slab.full && (!is_shared_ || slab.has_group(registry_.table().classes[slab.size_class].line_group))) {
    slab.full = false;
    bin.full_slabs.subtract(1);
    bin.partial.push_back(&slab);  // behind the others, so that more of its blocks gather
  }
  if (slab.used() != 0) return;
  bin.partial.remove(&slab);
  bin.empty.push_front(&slab);
  empty_bytes_ += slab.span->pages.bytes();
  if (empty_bytes_ > most_empty()) give_empty_away(slab.size_class);
}

bool SlabHeap::is_worth_leaving(const Slab& slab) const {
  const Bin& bin = bins_[slab.size_class];
  const Slab* const drawn_from = bin.partial.front();
  if (slab.full || &slab == drawn_from) return false;
  // Counts the used blocks of the partial slabs but that one. Shared slabs with single free blocks count as full: then
  // this is less than the truth.
  const size_t in_full = bin.full_slabs.get() * slab.capacity;
  const size_t apart = in_full + drawn_from->used();
  const size_t used = bin.out.get() > apart ? bin.out.get() - apart : 0;
  // A counter updated where slabs change lists would slow frees down, so the few empty ones are counted here.
  size_t others = bin.slabs.get() - bin.full_slabs.get() - 1;
  for (const Slab* empty = bin.empty.front(); empty != nullptr; empty = SlabList::next(empty)) --others;
  return slab.used() * others <= used + used / 8;
}

bool SlabHeap::give_slab(size_t size_class, SlabHeap& heir) {
  Bin& bin = bins_[size_class];
  Slab* slab = bin.partial.front();
  if (slab == nullptr && !bin.empty.empty()) slab = take_empty(size_class);
  if (slab == nullptr) return false;
  bin.partial.remove(slab);
  bin.slabs.subtract(1);
  slab_count_.subtract(1);
  slab_bytes_ -= slab->span->pages.bytes();
  count_home(size_class, slab->used());
  heir.insert(slab);
  slabs_.take_from(heir.slabs_, registry_.table().classes[size_class]);
  return true;
}

}  // namespace snug
