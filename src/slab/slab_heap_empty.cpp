// SlabHeap's empty slabs: where they come from, which are kept, and where they go.
//
//                 of another class ──►                    ──► a partial slab
//                                       an empty slab
//   the span store, as needed again ──►                    ──► the span store, beyond what is kept, several at a time
//
// The span store's lock is one that all threads share: the heap's own empty slabs come first, whatever their class, and
// what goes to the store or comes back from it goes and comes together.
#include "base/algorithm.h"
#include "base/atomic.h"
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"

namespace snug {
namespace {

// Bytes of empty slabs that are always kept, since no huge page is broken for so little; and the most beside them,
// which the heap earns by needing freed slabs again. The span store has the rest, for any class.
constexpr size_t kEmptyKept = SpanStore::kWorthBreaking;
constexpr size_t kEmptyExtra = size_t{4} << 20;
// The part of what is kept, one in so many, that is freed together with the excess.
constexpr size_t kPartGiven = 4;

}  // namespace

// An empty slab of the class, which becomes a partial one; null if it has none and the OS refuses memory.
Slab* SlabHeap::take_empty(size_t size_class) {
  Bin& bin = bins_[size_class];
  if (bin.empty.empty() && !recut_empty(size_class) && !make_slabs(size_class)) return nullptr;
  Slab* slab = bin.empty.front();
  bin.empty.remove(slab);
  bin.partial.push_front(slab);
  empty_bytes_ -= slab->span->pages.bytes();
  return slab;
}

// Makes an empty slab of another class, if there is one as long, into one of this class, without the span store.
bool SlabHeap::recut_empty(size_t size_class) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  if (empty_bytes_ < PageCount{sizes.pages_per_slab}.bytes()) return false;
  for (const Bin& bin : bins_) {
    Slab* const slab = bin.empty.front();
    if (slab == nullptr) continue;
    Span* const span = slab->span;
    if (span->pages.value != sizes.pages_per_slab || !is_aligned(span->first.value, sizes.slab_alignment())) continue;
    take_apart(slab);
    // What the old slab has written to may lie where the new one has written nothing yet.
    span->backed = span->backed || span->written == span->pages;
    span->zeroed = span->zeroed && span->written.value == 0;
    return cut_slab(size_class, span);
  }
  return false;
}

// Adds an empty slab on a span of the store, or several; false if the OS refuses memory.
bool SlabHeap::make_slabs(size_t size_class) {
  const Paging paging = paging_for(size_class);
  SpanBatch batch = spans_for(registry_.table().classes[size_class], paging);
  bool made = false;
  // The last one to be made is the first to be drawn from.
  while (Span* span = batch.back()) {
    batch.remove(span);
    note_refault(span->pages.bytes());
    if (span->grew || has_too_much()) purge_for_growth(span->pages);
    made = cut_slab(size_class, span) || made;
  }
  return made;
}

// Adds an empty slab on the span; false, and the span is in the store again, without memory for a record.
bool SlabHeap::cut_slab(size_t size_class, Span* span) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  Slab* slab = slabs_.make(sizes, registry_.page_map().start_of(span->first));
  if (slab == nullptr) {
    registry_.spans().free(span, PageCount{0});
    return false;
  }
  slab->span = span;
  slab->block_size = sizes.block_size;
  slab->capacity = sizes.blocks_per_slab;
  if (is_shared_) slab->capacity -= slab->capacity % sizes.line_group;
  slab->size_class = static_cast<uint8_t>(size_class);
  insert(slab);
  return true;
}

// Takes spans for new slabs. If the store has no dirty one, the heap's empty slabs, of other lengths, are freed to it
// first. Of slabs that were given away lately several come back together: as much as stays when some are given away.
SpanBatch SlabHeap::spans_for(const SizeClass& sizes, Paging paging) {
  const PageCount pages{sizes.pages_per_slab};
  const PageCount alignment{sizes.slab_alignment()};
  if (empty_bytes_ >= pages.bytes() && !registry_.spans().has_dirty(pages, alignment)) release_empty(0);
  const size_t stays = most_empty() / 2;
  const size_t refaulted = min(given_away_, stays - min(stays, empty_bytes_));
  return registry_.spans().allocate_some(home_, pages, alignment, paging, max<size_t>(1, refaulted / pages.bytes()));
}

// Bytes of empty slabs that are kept.
size_t SlabHeap::most_empty() const { return is_shared_ || !is_asleep() ? kEmptyKept + empty_extra_ : 0; }

// Called when the heap takes a span. If it gave as much away before, it needed that again: so much more is kept from
// now on.
void SlabHeap::note_refault(size_t bytes) {
  if (given_away_ < bytes) return;
  given_away_ -= bytes;
  if (empty_extra_ + bytes <= kEmptyExtra && registry_.grant_extra(bytes)) empty_extra_ += bytes;
}

void SlabHeap::age(uint32_t now, uint32_t period) {
  if (now - aged_at_ < period) return;
  aged_at_ = now;
  give_back_some();
  give_up_extra(empty_extra_ / 8);
  release_empty(most_empty());
}

void SlabHeap::give_up_extra(size_t bytes) {
  given_away_ = 0;
  bytes = round_up(bytes, kPageSize);
  registry_.return_extra(bytes);
  empty_extra_ -= bytes;
}

// Called when more is empty than is kept: frees enough that the next empty slab does not call this again. The extra is
// a part of kEmptyKept, not of all that is kept, or each ageing of the rest would cost as much again.
void SlabHeap::give_empty_away(size_t size_class) {
  const size_t before = empty_bytes_;
  release_empty(most_empty() - min(most_empty(), kEmptyKept / kPartGiven), size_class);
  const size_t given = before - empty_bytes_;
  if (!is_asleep()) given_away_ += given;
  // A heap that shrinks at random has holes. Visiting threads leave them to the heap's own thread or the background
  // thread.
  if (is_owner_in_.load(kRelaxed) && has_too_much()) purge_for_growth({static_cast<uint32_t>(given / kPageSize)});
}

void SlabHeap::release_empty(size_t keep, size_t first_class) {
  SpanBatch batch;
  for (size_t c = 0; c != kMaxClasses && empty_bytes_ > keep; ++c) {
    Bin& bin = bins_[(first_class + c) % kMaxClasses];
    while (!bin.empty.empty() && empty_bytes_ > keep) batch.push_back(take_apart(bin.empty.front()));
  }
  if (!batch.empty()) registry_.spans().free_all(batch);
}

// Ends an empty slab and returns its span.
Span* SlabHeap::take_apart(Slab* slab) {
  Bin& bin = bins_[slab->size_class];
  PageMap& page_map = registry_.page_map();
  Span* const span = slab->span;
  bin.empty.remove(slab);
  bin.slabs.subtract(1);
  slab_count_.subtract(1);
  slab_bytes_ -= span->pages.bytes();
  empty_bytes_ -= span->pages.bytes();
  for (uint32_t i = 0; i < span->pages.value; ++i) {
    const PageId page = span->first + PageCount{i};
    page_map.set_class(page, 0);
    page_map.set_entry(page, PageEntry());
  }
  span->written = max(span->written, slab->touched_pages());
  slabs_.recycle(slab, registry_.table().classes[slab->size_class]);
  return span;
}

}  // namespace snug
