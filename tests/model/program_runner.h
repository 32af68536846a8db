// Runs operations on a heap under test beside the reference and complains at the first disagreement.
//
// After each step: no overlap, alignment, sizes; contents on free and realloc; zeroes from calloc; constant usable
// sizes. Every `check_every` steps: check() of every structure and the statistics; every `verify_every` steps the
// contents of all live blocks. A runner belongs to one thread; check_every = 0 leaves the checks that need all other
// threads to be still to the thread that holds the barrier.
#pragma once

#include <cstdint>

#include "allocator_under_test.h"
#include "operation.h"
#include "reference_heap.h"

namespace snug::model {

struct RunOptions {
  uint32_t check_every = 1;
  uint32_t verify_every = 256;
};

class ProgramRunner {
 public:
  ProgramRunner(const AllocatorUnderTest& allocator, RunOptions options);

  Complaint step(const Operation& operation);
  // Frees all that is alive, oldest first, verifying each, then checks once more.
  Complaint finish();

  Complaint verify_all() const;
  // check() and the statistics. Only when no other thread uses the heap.
  Complaint check_structures() const;

  // Hands a block over to another thread's runner. False if none is alive.
  bool release(uint32_t pick, LiveBlock* block);
  Complaint adopt(const LiveBlock& block);

  const ReferenceHeap& reference() const { return reference_; }
  // How many times the heap has handed out a block: a realloc may count or not, as it moved or grew in place.
  uint64_t least_allocations() const { return allocations_; }
  uint64_t most_allocations() const { return allocations_ + reallocations_; }

 private:
  Complaint allocate(const Operation& operation);
  Complaint allocate_batch(const Operation& operation);
  Complaint free_batch(const Operation& operation);
  Complaint ask_of_some() const;
  Complaint move(const LiveBlock& block);
  Complaint reallocate(const Operation& operation);
  Complaint free_block(const LiveBlock& block, bool sized);
  Complaint verify(const LiveBlock& block, size_t prefix) const;
  Complaint account_for(void* address, size_t requested, size_t alignment, bool from_aligned);

  AllocatorUnderTest allocator_;
  RunOptions options_;
  ReferenceHeap reference_;
  snug_stats baseline_{};
  uint64_t steps_ = 0;
  uint64_t next_seed_ = 1;
  uint64_t allocations_ = 0;
  uint64_t reallocations_ = 0;
};

}  // namespace snug::model
