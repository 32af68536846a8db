// SlabHeap's holes: the OS pages of partial slabs that hold no live block, and how they are purged: on request, for
// growth, and by the background thread.
#include "base/algorithm.h"
#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/fatal.h"
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"

namespace snug {
namespace {

// For each page that comes or goes so many pages of slabs are searched for holes, so that a round is complete once a
// 16th of the heap was exchanged.
constexpr uint32_t kLooksAPage = kAtATime;
// A heap that does not change searches each time that it ages as if so many pages had.
constexpr PageCount kByAge{kAtATime};

}  // namespace

// One step: returns the next slab of the class and moves it behind the others, since the OS will have to back its free
// blocks anew; null where a class ends.
Slab* SlabHeap::next_sparse(Round& round) {
  Bin& bin = bins_[round.size_class];
  Slab* slab = bin.partial.front();
  const bool is_drawn = (bin.drawn & round.visitor) != 0;
  if (round.left != 0 && slab != nullptr && is_drawn) round.has_passed = true;  // since the round came to the class
  if (round.left != 0 && slab != nullptr && !is_drawn) {
    --round.left;
    bin.partial.remove(slab);
    bin.partial.push_back(slab);
    return slab;
  }
  round.size_class = (round.size_class + 1) % kMaxClasses;
  round.is_done = round.size_class == 0;
  Bin& next = bins_[round.size_class];
  const bool is_wanted = (next.drawn & round.visitor) != 0;
  round.has_passed = round.has_passed || is_wanted;
  round.left = is_wanted ? 0 : static_cast<uint32_t>(next.slabs.get() - next.full_slabs.get());
  next.drawn = static_cast<uint8_t>(next.drawn & ~round.visitor);
  return nullptr;
}

bool SlabHeap::has_too_much() const {
  // Fewer where a flush has given slabs away of which the blocks are not counted home yet.
  const size_t unused = slab_bytes_ - min(slab_bytes_, out_bytes_);
  return unused > registry_.spans().bounds().bytes.load(kRelaxed) * max<size_t>(1, thread_count());
}

void SlabHeap::purge_for_growth(PageCount for_pages) {
  if (slab_bytes_ < kGrown) return;
  if (owners_.is_done && has_too_much() && owners_.exchanged >= owners_.pause) begin_round();
  owners_.exchanged += for_pages.bytes();
  const bool was_done = owners_.is_done;
  uint32_t looks = for_pages.value * kLooksAPage;
  for (uint32_t purged = 0; looks != 0 && purged != kAtATime && !owners_.is_done;) {
    Slab* slab = next_sparse(owners_);
    if (slab == nullptr) continue;
    looks -= min(looks, slab->span->pages.value);
    const size_t given = give_back_holes(*slab, registry_.spans());
    owners_.given += given;
    if (given != 0) ++purged;
  }
  if (owners_.is_done && !was_done) end_round();
}

void SlabHeap::begin_round() {
  owners_.is_done = false;
  owners_.exchanged = 0;
  owners_.given = 0;
}

// A round that has given back as much as was exchanged meanwhile is followed by the next one at once. A search that
// finds little costs as much as allocating: after such a round a pause as long follows, doubled each time, up to an
// exchange of all that the heap has.
void SlabHeap::end_round() {
  const bool was_worth_it = owners_.given >= owners_.exchanged;
  owners_.pause = was_worth_it ? 0 : min(slab_bytes_, max(owners_.exchanged, 2 * owners_.pause));
  owners_.exchanged = 0;
}

void SlabHeap::give_back_some() {
  begin_round();
  purge_for_growth(kByAge);
  for (uint32_t runs = 0; runs != kAtATime && registry_.spans().purge_overdue() == Purge::kDone;) ++runs;
}

bool SlabHeap::take_holes(Round& round, Holes& holes, SpanBatch& emptied) {
  for (uint32_t looks = kLooksAtATime; looks != 0; --looks) {
    Slab* slab = next_sparse(round);
    if (round.is_done) return false;
    if (slab == nullptr) {
      const SlabList& empty = bins_[round.size_class].empty;
      while (round.left != 0 && !empty.empty()) emptied.push_back(take_apart(empty.front()));
      continue;
    }
    if (!holes.take(*slab)) continue;
    count_out(slab->size_class, holes.blocks());
    if (!slab->has_blocks()) set_full(*slab);
    return true;
  }
  return true;
}

void SlabHeap::put_back(Holes& holes) {
  Slab& slab = holes.slab();
  const bool purged = slab.purged;
  if (const void* block = holes.put_back(); block != nullptr) die_of_misuse("free", block, kAlreadyFree);
  count_home(slab.size_class, holes.blocks());
  slab.purged = purged;  // false if other blocks have come back meanwhile, which may have made new holes
  if (slab.full || slab.used() == 0) relist(slab);
}

size_t SlabHeap::purge_holes() {
  size_t bytes = 0;
  for (Bin& bin : bins_)
    for (Slab* slab = bin.partial.front(); slab != nullptr; slab = SlabList::next(slab))
      bytes += give_back_holes(*slab, registry_.spans());
  return bytes;
}

}  // namespace snug
