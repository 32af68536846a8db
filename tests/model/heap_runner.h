// Runs random programs on up to six heaps of one's own, and malloc's beside them, against a reference that knows of
// each block its heap, its size and what stands in it; complains at the first disagreement.
//
// After each step: no overlap, alignment, sizes, the heap that a block lies in, and its region; contents on free and
// realloc; zeroes from calloc; check() of every structure, and of the heap that the step names the statistics. Programs
// are for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "reference_heap.h"

namespace snug::model {

inline constexpr unsigned kHeaps = 6;

enum class HeapStep : uint8_t {
  kCreate,
  kDestroy,
  kMalloc,
  kCalloc,
  kAlignedAlloc,
  kRealloc,      // in the block's own heap, by snug_realloc
  kHeapRealloc,  // into the heap that the step names
  kPlainMalloc,  // of no heap
  kFree,
  kBatch,
  kFreeSome,
  kTrim,
  kVisit,
};

// Every subsequence of a program is a program: heaps and blocks are chosen among what is there.
struct HeapOperation {
  HeapStep step = HeapStep::kMalloc;
  unsigned heap = 0;           // of kHeaps places: a step on an empty one but kCreate creates a heap without a limit
  uint32_t pick = 0;           // which live block, modulo their number
  size_t size = 0;             // bytes asked for
  size_t limit = 0;            // of kCreate: bytes, or 0
  unsigned shift = 4;          // of the alignment
  unsigned count = 1;          // of kBatch and kFreeSome
  bool must_be_empty = false;  // of kCreate
  bool in_region = false;      // of kCreate: the heap has the region of its place
};
using HeapProgram = std::vector<HeapOperation>;

std::ostream& operator<<(std::ostream& out, const HeapOperation& operation);
// One operation a line, numbered.
std::string describe(const HeapProgram& program);

// Leaves no heap behind, unless it complains.
Complaint run_on_heaps(const HeapProgram& program);

}  // namespace snug::model
