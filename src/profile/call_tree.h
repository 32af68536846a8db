// CallTree: the call stacks of samples as one tree, so that what stacks share with each other is kept once: a node is a
// call, its parent the call that led to it, and a stack is known by the node of its innermost call.
//
//   node 0      the root: no call
//   slots       numbers of nodes by (parent, address), with linear probing; at most half of them are used
//
// Not thread-safe: the holder of the profile's lock calls it. Memory is added by its caller, under no lock; where there
// is none, a stack ends early: it is told by its outer calls alone.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/chunked_row.h"

namespace snug {

struct SampledStack {
  static constexpr size_t kMost = 64;
  uint32_t count = 0;
  uintptr_t frames[kMost];  // each the last byte of a call, the innermost first
};

class CallTree {
 public:
  struct Node {
    uintptr_t address;
    uint32_t parent;
    uint32_t site;  // what the profile keeps of this stack; 0: nothing
  };

  // Bytes of zeros that the tree wants before it keeps another stack; 0 if it has enough, or may not grow any more.
  size_t bytes_wanted() const;
  void grow(void* memory, size_t bytes);

  // The node of a stack.
  uint32_t keep(const SampledStack& stack);
  Node& operator[](uint32_t number) { return nodes_[number]; }
  const Node& operator[](uint32_t number) const { return nodes_[number]; }
  uint32_t size() const { return nodes_.size(); }

 private:
  static constexpr uint32_t kLeastSlots = 1u << 12;

  static uint64_t hash_of(uint32_t parent, uintptr_t address) {
    const uint64_t mixed = (address ^ uint64_t{parent} << 40) * 0x9e3779b97f4a7c15;
    return mixed ^ mixed >> 29;
  }
  uint32_t& slot_of(uint32_t parent, uintptr_t address);
  bool wants_slots() const { return 2 * (nodes_.size() + SampledStack::kMost) > slot_count_; }

  ChunkedRow<Node> nodes_;
  uint32_t* slots_ = nullptr;
  uint32_t slot_count_ = 0;
};

}  // namespace snug
