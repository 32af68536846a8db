// The trivial reference: what must be true of the blocks a correct heap has handed out.
//
// Invariant: the ranges [address, address + max(usable, 1)) of the live blocks are disjoint, and
//   blocks() == allocated - freed,  bytes() == sum of usable.
// It never calls an allocator under test and never looks inside a block; it only keeps the accounts.
// Not thread-safe: each thread of a test keeps its own, merged at barriers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "operation.h"

namespace snug::model {

struct LiveBlock {
  uintptr_t address = 0;
  size_t requested = 0;
  size_t usable = 0;
  size_t alignment = 16;
  uint64_t seed = 0;          // of the pattern written into it
  bool from_aligned = false;  // decides which sized free is legal
};

// Why the heap under test is wrong; nothing if it is right.
using Complaint = std::optional<std::string>;

class ReferenceHeap {
 public:
  // Complains if the block is null, misaligned, smaller than requested or overlaps a live one; else it is now live.
  Complaint add(const LiveBlock& block);
  // Complains if no live block starts there.
  Complaint remove(uintptr_t address);

  // The block an operation means. Null if none is alive. Valid until the next add or remove.
  const LiveBlock* choose(Choice choice, uint32_t pick) const;

  size_t blocks() const { return by_address_.size(); }
  size_t bytes() const { return bytes_; }
  // In address order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [address, entry] : by_address_) visit(entry.block);
  }

 private:
  struct Entry {
    LiveBlock block;
    uint64_t birth;
    size_t position;  // in picks_
  };

  std::map<uintptr_t, Entry> by_address_;
  std::map<uint64_t, uintptr_t> by_birth_;
  std::vector<uintptr_t> picks_;
  uint64_t next_birth_ = 0;
  size_t bytes_ = 0;
};

}  // namespace snug::model
