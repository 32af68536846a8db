#include "slab/slab_heap.h"

#include <algorithm>

#include "slab/block_check.h"
#include "slab/heap_registry.h"
#include "slab/outbox.h"

namespace snug {
namespace {

// Bytes of slabs from which on a class has proved to grow.
constexpr size_t kGrownClass = size_t{512} << 10;
// From how many slabs a refill draws at most: each is a miss or two, and one malloc waits for them all. Empty ones are
// left whole once so many have given.
constexpr size_t kSlabsARefill = 8;
constexpr size_t kSlabsWithEmpty = 2;
// Blocks in a row that belong to one other heap and are sent at once: fewer wait in the outbox for others of their
// owner.
constexpr size_t kWorthSending = 16;
// How many records a flush fetches at once.
constexpr size_t kFetchedAhead = 16;

// How many blocks from the first on, which lies on `page`, have the same class and owner.
size_t row_of_owner(const Window& window, size_t page, void* const* blocks, size_t count) {
  const auto owner_of = [&](size_t index) { return window.tag({static_cast<uint32_t>(index)}).owner(); };
  const ScaledClass its_class = window.class_at(page);
  const uint16_t owner = owner_of(page);
  size_t row = 1;
  for (; row != count; ++row) {
    const size_t next = window.index_of(blocks[row]);
    if (next == page) continue;
    if (next >= window.page_limit() || window.class_at(next) != its_class || owner_of(next) != owner) break;
    page = next;
  }
  return row;
}

}  // namespace

SlabHeap::SlabHeap(HeapRegistry& registry, uint16_t id) : id_(id), registry_(registry), slabs_(registry.arena()) {}

size_t SlabHeap::refill(size_t size_class, void** end, size_t want) {
  Bin& bin = bins_[size_class];
  size_t got = 0;
  bool carved = false;
  for (size_t slabs = 0; got < want && !carved && slabs != kSlabsARefill; ++slabs) {
    Slab* slab = bin.partial.front();
    if (slab == nullptr) {
      if (got != 0 && (bin.empty.empty() || slabs >= kSlabsWithEmpty)) break;
      slab = slab_to_draw_from(size_class);
      if (slab == nullptr) return 0;
    }
    if (const Slab* next = SlabList::next(slab); next != nullptr) prefetch_for_write(next);
    const size_t recycled = slab->take_recycled(end - got, want - got);
    got += recycled;
    if (recycled == 0) {
      // Fresh memory costs a fault an OS page: no more of it at once than the caller is likely to use.
      const size_t most = slab->span->backed ? want : registry_.table().classes[size_class].carve_max;
      got += slab->carve(end - got, want - got < most ? want - got : most);
      carved = !slab->span->backed;
    }
    if (!slab->has_blocks()) set_full(*slab);
  }
  count_out(size_class, got);
  bin.drawn = kItsOwner | kByTheClock;
  // The next refill begins with this one, which will have come by then.
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
  if (bin.empty.empty() && can_be_partial && registry_.abandoned_count() != 0 &&
      registry_.adopt_slab(size_class, *this) && !bin.partial.empty())
    return bin.partial.front();
  return take_empty(size_class);
}

// Small pages until it is proven that the class grows and that the program writes to what it asks for: a huge one is
// backed whole, whatever becomes of it.
Paging SlabHeap::paging_for(size_t size_class) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  const size_t class_bytes = bins_[size_class].slabs.get() * sizes.pages_per_slab * kPageSize;
  const bool grows = slab_bytes_ >= kGrownHeap && class_bytes >= kGrownClass;
  return grows && uses_blocks_whole(size_class) ? Paging::kHuge : Paging::kSmall;
}

// Looks at the newest slab of small pages now and then, until the answer is yes.
bool SlabHeap::uses_blocks_whole(size_t size_class) {
  Bin& bin = bins_[size_class];
  if (bin.use.is_proven()) return true;
  const Window& window = registry_.window();
  if (!bin.use.count_down() || window.class_at(bin.newest.value) != scaled(size_class)) return false;
  const PageTag tag = window.tag(bin.newest);
  if (tag.owner() != id_) return false;
  const Slab& slab = *tag.record<Slab>();
  if (slab.span->backed || slab.carved != slab.capacity) return false;
  bin.use.look_at(slab);
  return bin.use.is_proven();
}

void SlabHeap::insert(Slab* slab) {
  Bin& bin = bins_[slab->size_class];
  slab->owner = id_;
  tag_pages(*slab);
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

void SlabHeap::tag_pages(const Slab& slab) {
  Window& window = registry_.window();
  const PageTag tag = PageTag::slab(&slab, slab.owner);
  for (uint32_t i = 0; i < slab.span->pages.value; ++i) {
    const PageId page = slab.span->first + PageCount{i};
    window.set_tag(page, tag);
    window.set_class(page, scaled(slab.size_class));
  }
}

void SlabHeap::flush(size_t size_class, void* const* blocks, size_t count) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  const Window& window = registry_.window();
  Outbox outbox(*this, size_class);
  size_t home = 0;
  size_t fetched = 0;
  for (size_t done = 0; done != count;) {
    if (done >= fetched) {
      fetched = done + std::min(count - done, kFetchedAhead);
      if (!row_at(blocks + done, count - done, sizes.block_size)) fetch_records(blocks + done, fetched - done);
    }
    size_t taken;
    const PageTag tag = tag_of_block(window, size_class, blocks[done]);
    if (tag.owner() == id_) {
      taken = put_home(*tag.record<Slab>(), sizes, blocks + done, count - done);
      home += taken;
    } else {
      const size_t most = std::min(count - done, Outbox::kCapacity);
      taken = row_of_owner(window, window.index_of(blocks[done]), blocks + done, most);
      if (taken >= kWorthSending) {
        send(size_class, blocks + done, taken, tag.owner());
      } else {
        prefetch_for_write(&tag.record<Slab>()->remote(sizes));
        outbox.add(blocks + done, taken, tag.owner());
      }
    }
    done += taken;
  }
  if (home == 0) return;
  count_home(size_class, home);
  registry_.note_change(*this);
}

// Scattered blocks lie in as many slabs: their records are fetched together, not one behind the other.
void SlabHeap::fetch_records(void* const* blocks, size_t count) const {
  const Window& window = registry_.window();
  for (size_t i = 0; i < count; ++i) {
    const size_t page = window.index_of(blocks[i]);
    if (page >= window.page_limit()) continue;
    const PageTag tag = window.tag({static_cast<uint32_t>(page)});
    if (tag.owner() == id_) prefetch_for_write(tag.record<Slab>());
  }
}

// Takes back the first of the blocks, and with it a row or a cluster that it begins. Returns how many.
SNUG_ALWAYS_INLINE size_t SlabHeap::put_home(Slab& slab, const SizeClass& sizes, void* const* blocks, size_t count) {
  size_t done = 1;
  if (!begins_cluster(blocks, count, sizes.block_size))
    put_back_lone(slab, sizes, *blocks);
  else if (begins_row(blocks, count, sizes.block_size))
    done = put_back_row(slab, sizes, blocks, count).count;
  else
    done = put_back_cluster(slab, sizes, blocks, count);
  if (slab.full || slab.used() == 0) settle(slab);
  return done;
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

// A slab that was full has a block again, or one has become empty.
void SlabHeap::settle(Slab& slab) {
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
  // Of the partial slabs, that one apart. Shared slabs may have lone blocks to give and count as full: then this is
  // less than the truth.
  const size_t in_full = bin.full_slabs.get() * slab.capacity;
  const size_t apart = in_full + drawn_from->used();
  const size_t used = bin.out.get() > apart ? bin.out.get() - apart : 0;
  // What is counted where slabs change lists is paid for by frees: the few empty ones are counted here.
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
  return true;
}

}  // namespace snug
