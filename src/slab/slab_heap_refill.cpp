// SlabHeap's refill: from which slabs blocks are taken, and what the pages of new ones are.
#include "base/at_a_time.h"
#include "os/memory.h"
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"

namespace snug {
namespace {

// Bytes of slabs from which on a class has proved to grow: one that had less of a huge page would leave the rest of it
// to be broken for.
constexpr size_t kGrownClass = SpanStore::kWorthBreaking;
// Blocks of up to so many OS pages count as written to from end to end, so that a huge page backs hardly more than the
// program touches. Of larger ones programs often use only a part: a buffer for each connection, say.
constexpr size_t kPagesUsedWhole = 2;

}  // namespace

// Draws from kAtATime slabs at most: each costs a cache miss or two, and one malloc waits for them all.
size_t SlabHeap::refill(size_t size_class, void** end, size_t want) {
  Bin& bin = bins_[size_class];
  size_t got = 0;
  bool is_fresh = false;
  for (size_t slabs = 0; got < want && !is_fresh && slabs != kAtATime; ++slabs) {
    Slab* slab = bin.partial.front();
    if (slab == nullptr) {
      if (got != 0 && (bin.empty.empty() || slabs >= kSlabsARefill)) break;
      slab = slab_to_draw_from(size_class);
      if (slab == nullptr) return 0;  // none was taken so far: otherwise there was an empty slab
    }
    if (const Slab* next = SlabList::next(slab); next != nullptr) prefetch_for_write(next);
    got += slab->draw(end - got, want - got, registry_.table().classes[size_class], &is_fresh);
    if (!slab->has_blocks()) set_full(*slab);
  }
  count_out(size_class, got);
  bin.drawn = kItsOwner | kByTheClock;
  // The next refill begins with this slab; prefetched now, its record will be in the cache by then.
  if (const Slab* next = bin.partial.front(); next != nullptr) prefetch_for_write(next);
  return got;
}

size_t SlabHeap::take_untouched(size_t size_class, void** end) {
  if (registry_.table().classes[size_class].carve_max != 1) return 0;
  Bin& bin = bins_[size_class];
  Slab* slab = bin.partial.front();
  if (slab == nullptr) slab = slab_to_draw_from(size_class);
  if (slab == nullptr || slab->free_count != 0 || !slab->span->zeroed) return 0;
  slab->carve(end, 1);
  if (!slab->has_blocks()) set_full(*slab);
  count_out(size_class, 1);
  return 1;
}

size_t SlabHeap::take_group(size_t size_class, void** end) {
  const size_t group = registry_.table().classes[size_class].line_group;
  Bin& bin = bins_[size_class];
  for (;;) {
    Slab* slab = bin.partial.front();
    if (slab == nullptr) slab = take_empty(size_class);
    if (slab == nullptr) return 0;
    const bool taken = slab->take_group(end, group);
    if (!taken || !slab->has_blocks()) set_full(*slab);  // lone blocks that are left over wait for their neighbours
    if (!taken) continue;
    count_out(size_class, group);
    return group;
  }
}

// The class has no partial slab: an empty one, one of a heap that has ended, or a new one.
Slab* SlabHeap::slab_to_draw_from(size_t size_class) {
  Bin& bin = bins_[size_class];
  const bool can_be_partial = registry_.table().classes[size_class].blocks_per_slab != 1;
  if (bin.empty.empty() && can_be_partial && registry_.adopt_slab(size_class, *this) && !bin.partial.empty())
    return bin.partial.front();
  return take_empty(size_class);
}

// Small pages until the class has grown, and always for blocks of more than kPagesUsedWhole OS pages: a huge page is
// backed whole, even if the program uses little of it. Always small, too, where a huge page is longer than a chunk: it
// is what one OS page full of entries maps, of 8 bytes each, 2 MiB with OS pages of 4 KiB and 32 MiB with those of 16
// KiB.
Paging SlabHeap::paging_for(size_t size_class) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  const size_t class_bytes = bins_[size_class].slabs.get() * sizes.pages_per_slab * kPageSize;
  const bool grows = slab_bytes_ >= kGrown && class_bytes >= kGrownClass;
  const size_t os_page = os::page_size();
  const bool is_chunk = os_page * (os_page / 8) <= kChunkSize;
  const bool may_pay = is_chunk && sizes.block_size <= kPagesUsedWhole * os_page;
  return grows && may_pay ? Paging::kHuge : Paging::kSmall;
}

}  // namespace snug
