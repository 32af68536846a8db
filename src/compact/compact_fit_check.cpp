// The check of a compacting heap, and the sums of what it holds.
#include "base/atomic.h"
#include "base/shared_holds.h"
#include "compact/compact_fit.h"

namespace snug {

// Takes the lock of large blocks first, so that two Standstills do not wait for each other: no other thread takes a
// further lock while it holds that one. A class that is added while the locks are taken is seen at the end, when none
// can be added any more.
CompactFit::Standstill::Standstill(const CompactFit& heap) : heap_(heap) {
  SharedHolds::begin_exemption();  // the caller's visit() may make system calls meanwhile
  heap.lock_.lock();
  heap.large_lock_.lock();
  while (!holds_all()) {
    for (size_t i = 0; i < BlockPages::kMostBins; ++i) {
      if (held_[i] != nullptr) continue;
      held_[i] = heap.pages_.bin(i);
      if (held_[i] != nullptr) held_[i]->lock.lock();
    }
  }
}

// True if the lock of every class is held; keeps the locks of handles and pages then.
bool CompactFit::Standstill::holds_all() {
  heap_.handle_lock_.lock();
  heap_.pages_.lock().lock();
  for (size_t i = 0; i < BlockPages::kMostBins && heap_.pages_.shares_classes(); ++i) {
    if (held_[i] == heap_.pages_.bin(i)) continue;
    heap_.pages_.lock().unlock();
    heap_.handle_lock_.unlock();
    return false;
  }
  return true;
}

CompactFit::Standstill::~Standstill() {
  heap_.pages_.lock().unlock();
  heap_.handle_lock_.unlock();
  for (const PageBin* bin : held_)
    if (bin != nullptr) bin->lock.unlock();
  heap_.large_lock_.unlock();
  heap_.lock_.unlock();
  SharedHolds::end_exemption();
}

CompactFit::Totals CompactFit::totals() const {
  const OptionalLockGuard heap(lock_);
  Totals totals;
  totals.pages = pages_.totals();
  {
    const OptionalLockGuard guard(large_lock_);
    totals.pages.pins += large_pins_;
  }
  {
    const SharedOptionalLockGuard guard(handle_lock_);
    totals.bytes_handles = handles_.bytes();
    totals.pages.blocks = handles_.live();  // counts a block that moves only once
    for (const auto* reader = own_readers_.first.load(kRelaxed); reader != nullptr;
         reader = static_cast<const Reader*>(reader->next))
      totals.pages.bytes_records += sizeof(Reader);
  }
  totals.waits_heap = lock_.waits();
  totals.pages.waits_classes += large_lock_.waits();
  totals.waits_handles = handle_lock_.waits() + handles_.waits();
  totals.waits_pages = pages_.lock().waits();
  return totals;
}

size_t CompactFit::totals_of(size_t bytes, Totals& totals) const {
  const OptionalLockGuard heap(lock_);
  return pages_.totals_of(bytes, totals.pages);
}

void CompactFit::Totals::add(const Totals& others) {
  pages.add(others.pages);
  bytes_handles += others.bytes_handles;
  waits_heap += others.waits_heap;
  waits_handles += others.waits_handles;
  waits_pages += others.waits_pages;
}

const char* CompactFit::check_owners(const CompactPage& page, size_t* blocks, size_t* pins) const {
  for (size_t i = 0; i < page.blocks; ++i) {
    if (!page.holds(i)) continue;
    const BlockOwner owner = page.owner(i);
    if (owner.slot() >= handles_.slot_limit()) return "compact heap: a block's handle is none of the table's";
    if (owner.is_arriving()) {
      if (page.bin == nullptr || page.bin->move.to.page != &page || page.bin->move.to.index != i)
        return "compact heap: a place is taken for no move";
      continue;
    }
    *pins += owner.pins();
    // While a thread resizes a block two places are pinned, and the handle leads to one of them.
    if (handles_.address(owner.slot()) == page.block_at(i))
      ++*blocks;
    else if (owner.pins() == 0 || !is_shared())
      return "compact heap: a handle does not lead to its block";
  }
  return nullptr;
}

// True if a move that is under way leads from a block of the class to a place that is taken for it.
bool CompactFit::is_move_sound(const PageBin& bin) const {
  const Move& move = bin.move;
  if (!move.is_under_way()) return move.to.page == nullptr;
  if (!pages_.has_page(move.from.page) || !pages_.has_page(move.to.page)) return false;
  const Place from = move.from;
  const Place to = move.to;
  if (from.page->bin != &bin || to.page->bin != &bin || from.page == to.page) return false;
  if (!from.page->holds(from.index) || !to.page->holds(to.index) || move.done > from.page->block) return false;
  return !from.owner().is_arriving() && from.owner().pins() == 0 && to.owner().is_arriving() &&
         to.owner().slot() == from.owner().slot();
}

// Checks the chain of readers. One that was written over may lead in a circle: then the walk meets the mark, which
// moves to the current reader after twice as many steps each time.
const char* CompactFit::check_readers() const {
  const MoveEpochs<>::Reader* mark = nullptr;
  size_t steps = 0;
  size_t next_mark = 1;
  for (const MoveEpochs<>::Reader* reader = own_readers_.first.load(); reader != nullptr; reader = reader->next) {
    if (reader == mark || !pages_.may_hold_record(reader, sizeof(Reader)))
      return "compact heap: the chain of readers leads astray";
    if (++steps != next_mark) continue;
    mark = reader;
    next_mark *= 2;
  }
  return nullptr;
}

// In a shared heap the bound is not checked: a thread may be between a free and the move that restores the bound.
const char* CompactFit::check() const {
  const Standstill standstill(*this);
  if (const char* broken = pages_.check(); broken != nullptr) return broken;
  if (const char* broken = handles_.check(); broken != nullptr) return broken;
  size_t blocks = 0;
  size_t pins = 0;
  const char* broken = check_readers();
  pages_.for_each_page([&](const CompactPage& page) {
    if (broken == nullptr) broken = check_owners(page, &blocks, &pins);
  });
  if (broken != nullptr) return broken;
  if (blocks != handles_.live()) return "compact heap: not as many blocks as handles";
  size_t counted = large_pins_;
  pages_.for_each_bin([&](const PageBin& bin) {
    bin.lock.assume_held();
    counted += bin.pins;
    if (!is_move_sound(bin))
      broken = "compact heap: a move leads from or to no block of its class";
    else if (!is_shared() && bin.open_without_move() > bin.bound)
      broken = "compact heap: more pages of a class are not full than its bound";
  });
  if (broken != nullptr) return broken;
  return pins == counted ? nullptr : "compact heap: the count of pins is wrong";
}

}  // namespace snug
