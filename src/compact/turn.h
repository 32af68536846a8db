// Turn: a lock that is not one where a heap has one thread, and that counts how often somebody had to wait for it.
// SharedTurn: the same over what all classes share. No system call happens in it, as in a SharedLock.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/lock.h"

namespace snug {

template <class LockType>
class BasicTurn {
 public:
  // Before any other use by several threads.
  void share() { is_shared_ = true; }
  bool is_shared() const { return is_shared_; }

  void lock() {
    if (is_shared_) lock_shared();
  }
  void unlock() {
    if (is_shared_) lock_.unlock();
  }
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  void lock_shared() {
    if (lock_.try_lock()) [[likely]]
      return;
    waits_.fetch_add(1, std::memory_order_relaxed);
    lock_.lock();
  }

  std::atomic<uint64_t> waits_{0};
  LockType lock_;
  bool is_shared_ = false;
};

using Turn = BasicTurn<Lock>;
using SharedTurn = BasicTurn<SharedLock>;
using TurnGuard = LockGuard<Turn>;
using SharedTurnGuard = LockGuard<SharedTurn>;

// Locks the turn of a thing that moves: find() says where it lies, turn_of(place) whose turn that place is. Both are
// asked without the turn, so that the thing may have left between the questions, and its place be another's. In a turn
// no place of its own comes or goes: so if the place has that turn, and the thing is still there afterwards, it is
// decided. But `nobodys` is the turn of places that nobody has as well, and these come and go: the thing could leave,
// its place be nobody's when that is asked, and the thing come back to it before the last question. So all is asked
// there in `hands`, the turn in which places change hands. What a place says that is another heap's, and no slab, may
// be any turn's: that the thing leaves and comes back between two looks of one thread, twice, and its place is such a
// one meanwhile, is not looked for. To ask in `hands` each time would exclude it, at the price of a lock of all classes
// for each block that is freed or pinned. Returns the turn and the place.
template <class Find, class TurnOf, class AnyTurn, class Hands>
auto lock_turn_of(Find find, TurnOf turn_of, const AnyTurn& nobodys, Hands& hands) {
  for (;;) {
    auto& turn = turn_of(find());
    turn.lock();
    const bool may_be_nobodys = &turn == &nobodys;
    if (may_be_nobodys) hands.lock();
    const auto place = find();
    const bool is_settled = &turn_of(place) == &turn && find() == place;
    if (may_be_nobodys) hands.unlock();
    if (is_settled) return std::pair(&turn, place);
    turn.unlock();
  }
}

}  // namespace snug
