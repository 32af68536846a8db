// How a compacting heap's blocks move, a part at a time.
#include "base/atomic.h"
#include "compact/compact_fit.h"

namespace snug {

void CompactFit::set_bound(size_t bound) {
  pages_.set_bound(bound);
  pages_.for_each_bin([&](PageBin& bin) { set_bound_of(bin, bound); });
}

bool CompactFit::set_bound_of(size_t bytes, size_t bound) {
  const size_t size_class = pages_.class_for(bytes, 1);
  if (size_class == CompactPage::kLarge) return true;
  PageBin* const bin = pages_.bin_for(size_class);
  if (bin == nullptr) return false;
  set_bound_of(*bin, bound);
  return true;
}

void CompactFit::set_bound_of(PageBin& bin, size_t bound) {
  {
    const ClassGuard lock(*this, bin.lock);
    bin.bound = bound;
  }
  keep_bound(bin, kAllMoves);
}

// Makes up to so many moves until the bound is kept; each part of a move is made under a lock of its own.
void CompactFit::keep_bound(PageBin& bin, size_t most_moves) {
  CompactBudget unlimited;
  while (most_moves != 0) {
    const ClassGuard lock(*this, bin.lock);
    if (bin.open_without_move() <= bin.bound) return;
    const Progress progress = advance(bin, unlimited);
    if (progress == Progress::kWaits) return;
    if (progress == Progress::kOver) --most_moves;
  }
}

// Does the next part of the move that is under way, or begins one if there is none; then the bin must have two open
// pages or more.
CompactFit::Progress CompactFit::advance(PageBin& bin, CompactBudget& budget) {
  Move& move = bin.move;
  if (!move.is_under_way()) begin_move(bin);
  if (!handles_.is_moving(move.from.owner().slot())) return call_off(bin);
  if (is_shared() && !MoveEpochs<>::is_alone(readers_.first.load(kSeqCst), move.epoch)) return Progress::kWaits;
  const size_t bytes = move.next_part(increment_.load(kRelaxed));
  move.copy(bytes);
  budget.spend(bytes);
  if (move.left() != 0) return Progress::kMore;
  if (!finish_move(bin)) return call_off(bin);
  bin.called_off = 0;
  return Progress::kOver;
}

// Counts a move that was called off, so that the next move takes another block: one that readers use all the time would
// keep all others from moving.
CompactFit::Progress CompactFit::call_off(PageBin& bin) {
  ++bin.called_off;
  abort_move(bin);
  return Progress::kOver;
}

void CompactFit::begin_move(PageBin& bin) {
  CompactPage* const target = bin.target();
  const Place from = bin.to_move(target);
  const size_t slot = from.owner().slot();
  bin.move.begin(from, pages_.take_in(target));
  bin.move.to.owner() = BlockOwner::arriving(slot);
  if (is_shared())
    bin.move.epoch = handles_.begin_move(slot, readers_.epochs);
  else
    handles_.begin_move(slot);
}

// False if the move was called off meanwhile.
bool CompactFit::finish_move(PageBin& bin) {
  const Place from = bin.move.from;
  const Place to = bin.move.to;
  const size_t slot = from.owner().slot();
  if (!is_shared() || from.page->relocate != nullptr) {
    handles_.set_address(slot, to.block());
  } else if (!handles_.arrive(slot, to.block())) {
    return false;
  }
  to.owner() = from.owner();
  ++bin.moves.finished;
  bin.moves.bytes += bin.move.done;
  bin.move.end();
  pages_.give(from);
  return true;
}

void CompactFit::abort_move(PageBin& bin) {
  const Place to = bin.move.to;
  handles_.call_off(bin.move.from.owner().slot());
  bin.move.end();
  ++bin.moves.aborted;
  pages_.give(to);
}

void CompactFit::abort_move_of(Place place) {
  PageBin* const bin = place.page->bin;
  if (bin != nullptr && bin->move.from == place) abort_move(*bin);
}

void CompactFit::settle() {
  pages_.for_each_bin([&](PageBin& bin) {
    const ClassGuard lock(*this, bin.lock);
    if (bin.move.is_under_way()) abort_move(bin);
  });
}

bool CompactFit::step(CompactBudget& budget) {
  const Emptied emptied = budget.is_limited() ? Emptied::kWaits : Emptied::kGoes;
  bool waits = false;
  size_t size_class = next_class_.load(kRelaxed) % pages_.count();
  for (size_t left = pages_.count(); left != 0; --left) {
    PageBin* const bin = pages_.bin(size_class);
    while (bin != nullptr) {
      const ClassGuard lock(*this, bin->lock, emptied);
      if (!bin->move.is_under_way() && bin->open() <= 1) break;
      if (budget.is_used_up()) return true;
      if (advance(*bin, budget) == Progress::kWaits) {
        waits = true;
        break;
      }
    }
    size_class = (size_class + 1) % pages_.count();
    next_class_.store(size_class, kRelaxed);
  }
  if (emptied == Emptied::kGoes) give_back(BlockPages::kAllRows);
  return waits;
}

}  // namespace snug
