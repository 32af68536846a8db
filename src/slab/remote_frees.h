// RemoteFrees: which blocks of one slab have been freed by threads that do not hold its heap's lock: a bit each, and a
// bit for each word of them that may have some.
//
//   a sender                                          the holder of the heap's lock
//     sets bits in a word;                              has the slab out of the mailbox (slab/mailbox.h);
//     if they are the word's first: names the word;       takes the names,
//     if it is the first name: posts the slab             and of each named word the bits
//
//   a word with bits is named, or will be by the sender that set the first of them
//   a slab with names is in a mailbox or in the holder's hands, or will be posted by the sender of the first
//
// A block counts as used until its bit has been taken. So a slab stays as long as a sender may touch it: a sender that
// set a bit and has neither to name the word nor to post the slab touches it no more; one that has to is waited for, as
// no thread takes the bits before that. Nothing is allocated, and nothing grows: any number of blocks of any number of
// senders has its place. A bit that is set already is a block freed twice.
//
// Every order of steps is run by tests/schedule/mailbox_proof_test.cpp.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

namespace snug {

template <class Atomics>
class RemoteFrees {
 public:
  enum class Added { kFirst, kMore, kTwice };

  // The words of bits follow the object in memory, zeroed.
  RemoteFrees(char* start, uint16_t bytes_behind_record) : start_(start), behind_(bytes_behind_record) {}

  // Where the slab's blocks begin.
  char* start() const { return start_; }
  // The bytes from the slab's record to this one.
  size_t bytes_behind_record() const { return behind_; }

  // For any thread that has blocks of the slab: marks those of the mask in the word as free. After kFirst the caller
  // must put the slab into a mailbox; else it touches the slab no more.
  Added add(size_t word, uint64_t mask) {
    const uint64_t before = bits(word).fetch_or(mask, kRelease);
    if ((before & mask) != 0) return Added::kTwice;
    if (before != 0) return Added::kMore;
    // Acquired: the slab may have been out of the mailbox meanwhile, and its link is about to be written anew.
    const auto name = static_cast<uint16_t>(1u << word);
    return words_.fetch_or(name, kAcqRel) == 0 ? Added::kFirst : Added::kMore;
  }

  // For the lock's holder, which has taken this slab out of the mailbox: calls visit(word, mask) for all bits set.
  template <class Visit>
  void take(Visit visit) {
    for (uint32_t words = words_.exchange(0, kAcqRel); words != 0; words &= words - 1) {
      const auto word = static_cast<size_t>(trailing_zeros(words));
      visit(word, bits(word).exchange(0, kAcquire));
    }
  }
  // True if the block is marked. Racy: it may be taken home at once.
  bool has(size_t slot) { return (bits(slot / 64).load(kRelaxed) >> slot % 64 & 1) != 0; }
  // True if a word is named. Racy but for the holder of the heap's lock.
  bool any() const { return words_.load(kRelaxed) != 0; }

  typename Atomics::template Var<RemoteFrees*> next{nullptr};  // used by the mailbox

 private:
  using Word = typename Atomics::template Atomic<uint64_t>;
  Word& bits(size_t word) { return reinterpret_cast<Word*>(this + 1)[word]; }

  char* const start_;
  typename Atomics::template Atomic<uint16_t> words_{0};
  const uint16_t behind_;
};

}  // namespace snug
