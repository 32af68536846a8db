// How a move of a block and threads that read the block through its handle agree, without a lock.
//
//   a reader  enters a section, looks up addresses, reads and writes there, and leaves. A look-up that finds that a
//             block is being moved calls the move off: the block stays where it is
//   the mover marks the slot; waits until each reader that was inside has left, since it may have looked the block up
//             before; copies; and changes the slot to the new address, unless the move was called off meanwhile
//
// The wait is no loop: the mover asks, now and then, whether it is over. Epochs tell which readers were inside: a mark
// begins a new one, and a reader that enters records the current one. A reader in the new epoch sees the mark, which
// was set before it. A reader that the mover did not see inside sees the mark as well (Dekker's algorithm: both write,
// then read what the other has written).
//
// After a reader has called a move off, the mover may still read what the reader writes: the copy is thrown away. A
// block has one mover at a time. It is a template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <stdint.h>

#include "base/atomic.h"
#include "base/std_atomics.h"
#include "base/units.h"

namespace snug {

template <class Atomics = StdAtomics>
class MoveEpochs {
 public:
  using Slot = typename Atomics::template Atomic<uint64_t>;

  // Belongs to one thread, or another unit of execution that is in one section at a time. Part of a chain that only
  // grows.
  struct alignas(kCacheLine) Reader {
    typename Atomics::template Atomic<uint64_t> since{0};  // the epoch in which it entered; 0: outside
    Reader* next = nullptr;
  };

  // ---- readers

  // Enters a section. Returns 0, or the epoch of the section that the reader is in already, which is misuse.
  uint64_t enter(Reader& reader) { return reader.since.exchange(epoch_.load(kAcquire), kSeqCst); }
  void leave(Reader& reader) { reader.since.store(0, kRelease); }

  // The slot's word, read in a section: if it is at rest, the block stays in place while the reader is inside.
  static uint64_t look(const Slot& slot) { return slot.load(kSeqCst); }
  // Calls off the move that `word`, read from the slot, shows. `resting` is the bit that a move clears. False: the slot
  // has changed since.
  static bool call_off(Slot& slot, uint64_t word, uint64_t resting) {
    return slot.compare_exchange_strong(word, word | resting, kRelaxed);
  }

  // ---- the mover

  // Marks the slot. Returns the new epoch: the wait is over when all readers inside have entered in it or later.
  uint64_t begin(Slot& slot, uint64_t resting) {
    slot.fetch_and(~resting, kSeqCst);
    return epoch_.fetch_add(1, kRelease) + 1;
  }
  // True if no reader of the chain can have an address from before.
  static bool is_alone(const Reader* first, uint64_t epoch) {
    for (const Reader* reader = first; reader != nullptr; reader = reader->next) {
      const uint64_t since = reader->since.load(kSeqCst);
      if (since != 0 && since < epoch) return false;
    }
    return true;
  }
  // Ends the move at the new address. False: it was called off.
  static bool arrive(Slot& slot, uint64_t marked, uint64_t arrived) {
    return slot.compare_exchange_strong(marked, arrived, kRelease, kRelaxed);
  }

  // The current epoch, which a reader records when it enters.
  const Slot& epoch() const { return epoch_; }

 private:
  alignas(kCacheLine) typename Atomics::template Atomic<uint64_t> epoch_{1};
};

}  // namespace snug
