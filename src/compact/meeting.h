// How a block that moves meets those who read it through its handle, without a lock.
//
//   a reader  enters a section, looks up addresses, reads and writes there, and leaves. A look-up that finds a block on
//             its way calls the move off: the block stays where it is
//   the mover marks the slot; waits until each reader that was inside has left, since it may have looked the block up
//             before; copies; and changes the slot to the new address, unless the move was called off meanwhile
//
// The wait is no loop: the mover asks, now and then, whether it is over. Epochs tell who was inside: a mark begins a
// new one, and a reader that enters says in which. A reader that names the new epoch sees the mark, which came before
// it. One that the mover did not see inside sees the mark as well (Dekker's rule: both write, then read what the other
// has written).
//
// What a reader writes after it has called a move off may be read by the mover that still copies, for nothing: the copy
// is thrown away. One mover of a block at a time. A template, which tests/schedule runs in every order of its steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/std_atomics.h"
#include "base/units.h"

namespace snug {

template <class Atomics = StdAtomics>
class Meeting {
 public:
  using Slot = typename Atomics::template Atomic<uint64_t>;

  // A thread's, or whoever's that is not in two sections at once. In a chain that only grows.
  struct alignas(kCacheLine) Reader {
    typename Atomics::template Atomic<uint64_t> since{0};  // the epoch; 0: outside
    Reader* next = nullptr;
  };

  // ---- readers

  // 0, or the epoch of the section that the reader is in already.
  uint64_t enter(Reader& reader) {
    return reader.since.exchange(epoch_.load(std::memory_order_acquire), std::memory_order_seq_cst);
  }
  void leave(Reader& reader) { reader.since.store(0, std::memory_order_release); }

  // The slot's word, in a section: what it leads to stays while the reader is inside, if it is at rest.
  static uint64_t look(const Slot& slot) { return slot.load(std::memory_order_seq_cst); }
  // Calls the move of a word off that was looked up. `resting` is the bit that a move takes away. False: the word is
  // another by now.
  static bool call_off(Slot& slot, uint64_t word, uint64_t resting) {
    return slot.compare_exchange_strong(word, word | resting, std::memory_order_relaxed);
  }

  // ---- the mover

  // Marks the slot. Returns the epoch that all readers must have entered in.
  uint64_t begin(Slot& slot, uint64_t resting) {
    slot.fetch_and(~resting, std::memory_order_seq_cst);
    return epoch_.fetch_add(1, std::memory_order_release) + 1;
  }
  // True if no reader of the chain can have an address from before.
  static bool is_alone(const Reader* first, uint64_t epoch) {
    for (const Reader* reader = first; reader != nullptr; reader = reader->next) {
      const uint64_t since = reader->since.load(std::memory_order_seq_cst);
      if (since != 0 && since < epoch) return false;
    }
    return true;
  }
  // False: it was called off.
  static bool arrive(Slot& slot, uint64_t marked, uint64_t arrived) {
    return slot.compare_exchange_strong(marked, arrived, std::memory_order_release, std::memory_order_relaxed);
  }

  // What a reader enters in.
  const Slot& epoch() const { return epoch_; }

 private:
  alignas(kCacheLine) typename Atomics::template Atomic<uint64_t> epoch_{1};
};

}  // namespace snug
