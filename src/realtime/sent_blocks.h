// SentBlocks: blocks on their way from any threads to the one that takes them. To send a block is wait-free: one
// exchange, whatever other threads do. To take one is too.
//
//   head ──► block ──► block ──► null       a link is pending until the block's sender has stored it
//   taken ──► block ──► block ──► null      what the taker has taken over at once, and takes one by one
//
// A block is taken once, with all that its sender has done before. A sender that is stopped between its exchange and
// its store of the link keeps back the blocks of one list that were sent before its own, until it goes on: take() does
// not wait for it.
//
// Any thread may send; one thread at a time takes. Block has an atomic `next`, which only this uses from send() until
// the block is taken.
#pragma once

#include "base/atomic.h"
#include "base/bits.h"

namespace snug {

template <class Block, class Atomics>
class SentBlocks {
 public:
  void send(Block* block) {
    block->next.store(pending(), kRelaxed);
    Block* const before = head_.exchange(block, kRelease);
    block->next.store(before, kRelease);
  }

  // Null if there is none, or none that can be taken yet.
  Block* take() {
    Block* block = taken_;
    if (block == nullptr) {
      if (head_.load(kRelaxed) == nullptr) return nullptr;
      block = head_.exchange(nullptr, kAcquire);
    }
    Block* const next = block->next.load(kAcquire);
    const bool is_pending = next == pending();
    taken_ = is_pending ? block : next;
    return is_pending ? nullptr : block;
  }

  // In the child of a fork, where a sender of the parent will never store its link: what lies behind it is lost.
  void cut_pending() {
    cut(taken_);
    cut(head_.load(kRelaxed));
  }

  // For the thread that takes.
  bool is_empty() const { return taken_ == nullptr && head_.load(kRelaxed) == nullptr; }

 private:
  static Block* pending() { return at<Block>(1); }
  static void cut(Block* block) {
    while (block != nullptr) {
      Block* const next = block->next.load(kRelaxed);
      if (next == pending()) return block->next.store(nullptr, kRelaxed);
      block = next;
    }
  }

  typename Atomics::template Atomic<Block*> head_{nullptr};
  typename Atomics::template Var<Block*> taken_{nullptr};
};

}  // namespace snug
