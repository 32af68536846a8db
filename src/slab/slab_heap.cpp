#include "slab/slab_heap.h"

#include <algorithm>

#include "base/fatal.h"
#include "slab/heap_registry.h"
#include "slab/outbox.h"

namespace snug {
namespace {

// Bytes of slabs from which on a heap, and a class in it, have proved to grow.
constexpr size_t kGrownHeap = size_t{4} << 20;
constexpr size_t kGrownClass = size_t{512} << 10;
// Bytes of empty slabs kept at least, and at most. Beyond that the span store has them, for any class.
constexpr size_t kEmptyKept = size_t{512} << 10;
constexpr size_t kEmptyMost = size_t{4} << 20;
constexpr const char* kAlreadyFree = "block is already free";

// True if the second block lies `stride` behind the first.
bool is_behind(void* const* blocks, size_t count, size_t stride) {
  return count > 1 && address_of(blocks[1]) - address_of(blocks[0]) == stride;
}

// How many blocks from the first on, up to `most`, lie `stride` apart.
size_t row_of_neighbours(void* const* blocks, size_t most, size_t stride) {
  uintptr_t expected = address_of(blocks[0]) + stride;
  size_t run = 1;
  for (; run != most && address_of(blocks[run]) == expected; ++run) expected += stride;
  return run;
}

// What lies in the caches has been looked at when it came, but for small blocks that were deleted with a size.
[[noreturn]] SNUG_COLD void die_of_stranger(const Window& window, const void* block) {
  if (!window.contains(block)) die_of_misuse("delete", block, "not a block of this heap");
  // A slab that has gone had all its blocks free.
  if (window.class_at(window.index_of(block)) == 0) die_of_misuse("free", block, kAlreadyFree);
  die_of_misuse("delete", block, "size differs from that of the allocation, or block is already free");
}

// One of the blocks from `slot` on is free already.
[[noreturn]] SNUG_COLD void die_of_double_free(const Slab& slab, size_t slot) {
  while (slot + 1 < slab.carved && (slab.free[slot / 64] >> (slot % 64) & 1) == 0) ++slot;
  die_of_misuse("free", slab.block(slot), kAlreadyFree);
}

// For an address behind the last block that was handed out.
[[noreturn]] SNUG_COLD void die_of_stray(const Slab& slab, const void* block) {
  const size_t offset = static_cast<size_t>(static_cast<const char*>(block) - slab.start);
  const bool is_block = offset % slab.block_size == 0 && slab.slot_of(offset) < slab.capacity;
  die_of_misuse("free", block, is_block ? "block was never handed out" : "points inside a block");
}

}  // namespace

SlabHeap::SlabHeap(HeapRegistry& registry, uint16_t id)
    : registry_(registry), id_(id), slabs_(registry.arena()), empty_budget_(kEmptyKept) {}

size_t SlabHeap::refill(size_t size_class, void** end, size_t want) {
  if (has_mail()) take_mail();
  if (waiting_ != nullptr)
    if (const size_t waiting = take_waiting(size_class, end, want); waiting != 0) return waiting;
  Bin& bin = bins_[size_class];
  size_t got = 0;
  bool carved = false;
  while (got < want && !carved) {
    Slab* slab = bin.partial.front();
    if (slab == nullptr) {
      if (got != 0) break;
      slab = slab_to_draw_from(size_class);
      if (slab == nullptr) return 0;
    }
    if (slab->used() == 0) empty_bytes_ -= slab->span->pages.bytes();
    const size_t recycled = slab->take_recycled(end - got, want - got);
    got += recycled;
    if (recycled == 0) {
      // Fresh memory costs a fault an OS page: no more of it at once than the caller is likely to use.
      const size_t most = slab->span->backed ? want : registry_.table().classes[size_class].carve_max;
      got += slab->carve(end - got, want - got < most ? want - got : most);
      carved = !slab->span->backed;
    }
    if (!slab->has_blocks()) {
      bin.partial.remove(slab);
      bin.full.push_front(slab);
      slab->full = true;
    }
  }
  bin.out.add(got);
  return got;
}

Slab* SlabHeap::slab_to_draw_from(size_t size_class) {
  if (registry_.abandoned_count() != 0 && registry_.adopt_slab(size_class, *this))
    return bins_[size_class].partial.front();
  return new_slab(size_class);
}

Slab* SlabHeap::new_slab(size_t size_class) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  Slab* slab = slabs_.make();
  if (slab == nullptr) return nullptr;
  slab->span = registry_.spans().allocate({sizes.pages_per_slab}, {sizes.slab_alignment()}, paging_for(size_class));
  if (slab->span == nullptr) {
    slabs_.recycle(slab);
    return nullptr;
  }
  slab->start = registry_.window().start_of(slab->span->first);
  slab->block_size = sizes.block_size;
  slab->reciprocal = sizes.reciprocal;
  slab->capacity = sizes.blocks_per_slab;
  slab->size_class = static_cast<uint8_t>(size_class);
  regret(slab->span->pages.bytes());
  insert(slab);
  return slab;
}

// Small pages until growth is proven: a huge one is backed whole, whatever becomes of it.
Paging SlabHeap::paging_for(size_t size_class) const {
  const size_t slab_pages = registry_.table().classes[size_class].pages_per_slab;
  const bool grows = slab_bytes_ >= kGrownHeap && bins_[size_class].slabs.get() * slab_pages * kPageSize >= kGrownClass;
  return grows ? Paging::kHuge : Paging::kSmall;
}

void SlabHeap::insert(Slab* slab) {
  Bin& bin = bins_[slab->size_class];
  slab->owner = id_;
  tag_pages(*slab);
  bin.slabs.add(1);
  slab_count_.add(1);
  slab_bytes_ += slab->span->pages.bytes();
  bin.out.add(slab->used());
  if (slab->used() == 0) empty_bytes_ += slab->span->pages.bytes();
  bin.partial.push_front(slab);
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
  Outbox outbox(*this, size_class);
  while (count != 0) {
    const size_t done = send_home(blocks, count, size_class, outbox);
    blocks += done;
    count -= done;
  }
}

// Takes back the first of the blocks, and those behind it that lie in the same slab or, if it is another heap's, have
// the same owner. Returns how many.
size_t SlabHeap::send_home(void* const* blocks, size_t count, size_t size_class, Outbox& outbox) {
  const Window& window = registry_.window();
  const auto owner_of = [&](size_t page) { return window.tag({static_cast<uint32_t>(page)}).owner(); };
  const auto has_class = [&](size_t page) {
    return page < window.page_limit() && window.class_at(page) == scaled(size_class);
  };
  size_t page = window.index_of(*blocks);
  if (!has_class(page)) die_of_stranger(window, *blocks);
  const PageTag tag = window.tag({static_cast<uint32_t>(page)});
  if (tag.owner() == id_) return put_home(tag.record<Slab>(), blocks, count);
  size_t run = 1;
  for (; run != count; ++run) {
    const size_t next = window.index_of(blocks[run]);
    if (next == page) continue;
    if (!has_class(next) || owner_of(next) != tag.owner()) break;
    page = next;
  }
  outbox.add(blocks, run, tag.owner());
  return run;
}

// Neighbours, in ascending or descending order, go back together. Returns how many of the blocks lie in the slab.
size_t SlabHeap::put_home(Slab* slab, void* const* blocks, size_t count) {
  const size_t block_size = slab->block_size;
  const size_t carved = slab->carved * block_size;
  size_t done = 0;
  do {
    const size_t offset = static_cast<size_t>(static_cast<char*>(blocks[done]) - slab->start);
    if (offset >= carved) break;
    const size_t slot = slab->slot_of(offset);
    if (slot * block_size != offset) die_of_misuse("free", blocks[done], "points inside a block");
    size_t run = 1;
    size_t first = slot;
    if (is_behind(blocks + done, count - done, block_size)) {
      run = row_of_neighbours(blocks + done, std::min(count - done, slab->carved - slot), block_size);
    } else if (is_behind(blocks + done, count - done, size_t{0} - block_size)) {
      run = row_of_neighbours(blocks + done, std::min(count - done, slot + 1), size_t{0} - block_size);
      first = slot + 1 - run;
    }
    if (const size_t back = slab->put_back(first, run); back != run) die_of_double_free(*slab, first + back);
    done += run;
  } while (done != count);
  if (done == 0) die_of_stray(*slab, *blocks);
  account_for(slab, done);
  return done;
}

// Blocks have come back to the slab.
void SlabHeap::account_for(Slab* slab, size_t blocks) {
  Bin& bin = bins_[slab->size_class];
  bin.out.subtract(blocks);
  slab->purged = false;
  if (slab->full) {
    bin.full.remove(slab);
    bin.partial.push_back(slab);  // behind the others, so that more of its blocks gather before it is drawn from
    slab->full = false;
  }
  if (slab->used() == 0) {
    empty_bytes_ += slab->span->pages.bytes();
    if (keeps_too_many_empty()) {
      given_away_ += slab->span->pages.bytes();
      release(slab);
    }
  }
}

bool SlabHeap::keeps_too_many_empty() const {
  return abandoned_.load(std::memory_order_relaxed) || empty_bytes_ > empty_budget_;
}

// An empty slab that was given away is missed: so much more is kept from now on.
void SlabHeap::regret(size_t bytes) {
  if (given_away_ < bytes) return;
  given_away_ -= bytes;
  empty_budget_ = std::min(empty_budget_ + bytes, kEmptyMost);
}

void SlabHeap::age() {
  open_waiting();
  given_away_ = 0;
  empty_budget_ = std::max(empty_budget_ - empty_budget_ / 8, kEmptyKept);
  if (keeps_too_many_empty()) release_empty(empty_budget_);
}

void SlabHeap::release(Slab* slab) {
  Bin& bin = bins_[slab->size_class];
  Window& window = registry_.window();
  bin.partial.remove(slab);
  bin.slabs.subtract(1);
  slab_count_.subtract(1);
  slab_bytes_ -= slab->span->pages.bytes();
  empty_bytes_ -= slab->span->pages.bytes();
  for (uint32_t i = 0; i < slab->span->pages.value; ++i) {
    const PageId page = slab->span->first + PageCount{i};
    window.set_class(page, 0);
    window.set_tag(page, PageTag());
  }
  registry_.spans().free(slab->span, slab->touched_pages());
  slabs_.recycle(slab);
}

void SlabHeap::release_empty(size_t keep) {
  for (Bin& bin : bins_) {
    for (Slab* slab = bin.partial.front(); slab != nullptr && empty_bytes_ > keep;) {
      Slab* next = SlabList::next(slab);
      if (slab->used() == 0) release(slab);
      slab = next;
    }
  }
}

bool SlabHeap::give_slab(size_t size_class, SlabHeap& heir) {
  Bin& bin = bins_[size_class];
  Slab* slab = bin.partial.front();
  if (slab == nullptr) return false;
  bin.partial.remove(slab);
  bin.slabs.subtract(1);
  slab_count_.subtract(1);
  slab_bytes_ -= slab->span->pages.bytes();
  bin.out.subtract(slab->used());
  if (slab->used() == 0) empty_bytes_ -= slab->span->pages.bytes();
  heir.insert(slab);
  return true;
}

size_t SlabHeap::purge_holes() {
  size_t bytes = 0;
  purge_some_holes(SIZE_MAX, &bytes);
  return bytes;
}

size_t SlabHeap::purge_some_holes(size_t most, size_t* bytes) {
  size_t slabs = 0;
  for (Bin& bin : bins_)
    for (Slab* slab = bin.partial.front(); slab != nullptr && slabs != most; slab = SlabList::next(slab)) {
      const size_t given_back = slab->purge_holes();
      if (given_back == 0) continue;
      registry_.spans().break_huge_page(*slab->span);
      *bytes += given_back;
      ++slabs;
    }
  return slabs;
}

const char* SlabHeap::check() const {
  size_t all_slabs = 0;
  size_t empty = 0;
  for (size_t c = 0; c < kMaxClasses; ++c) {
    const Bin& bin = bins_[c];
    size_t slabs = 0;
    size_t out = 0;
    for (const SlabList* list : {&bin.partial, &bin.full}) {
      for (Slab* slab = list->front(); slab != nullptr; slab = SlabList::next(slab)) {
        if (const char* broken = slab->check(); broken != nullptr) return broken;
        if (slab->full != (list == &bin.full)) return "slab heap: a slab is in the wrong list";
        if (slab->owner != id_ || slab->size_class != c) return "slab heap: a slab belongs elsewhere";
        const Window& window = registry_.window();
        for (uint32_t i = 0; i < slab->span->pages.value; ++i) {
          const PageId page = slab->span->first + PageCount{i};
          if (window.tag(page).record<Slab>() != slab || window.tag(page).owner() != id_ ||
              window.class_at(page.value) != scaled(c))
            return "slab heap: a page's tag or class does not name its slab";
        }
        ++slabs;
        out += slab->used();
        if (slab->used() == 0) empty += slab->span->pages.bytes();
      }
    }
    if (slabs != bin.slabs.get() || out != bin.out.get()) return "slab heap: the counts of a class are wrong";
    all_slabs += slabs;
  }
  if (all_slabs != slab_count_.get() || empty != empty_bytes_) return "slab heap: the counts of slabs are wrong";
  return nullptr;
}

}  // namespace snug
