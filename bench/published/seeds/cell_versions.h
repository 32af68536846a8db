// The versions of S0: cell heaps composed as the document's were, snug's default, rlsf's TLSF, and malloc. Each is
// called once for an operation, by CellCalls<Version>.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

#include "rlsf.h"
#include "snug/cell_heap.h"

namespace seeds {

// A page holds 2680 cells of the version without trailers on used cells: three pages for all. With a trailer on every
// cell four are needed, as its text says.
constexpr size_t kCellPage = size_t{224} << 10;

// Keeps what comes back for the next run.
struct RecycledPages {
  static constexpr size_t kPageBytes = kCellPage;
  static inline std::vector<void*> spare;

  static void* take(size_t bytes) {
    if (bytes != kCellPage || spare.empty()) return std::aligned_alloc(64, bytes);
    void* const page = spare.back();
    spare.pop_back();
    return page;
  }
  static void give(void* page, size_t bytes) {
    if (bytes == kCellPage)
      spare.push_back(page);
    else
      std::free(page);
  }
};

struct OnPages : snug::CellPolicy {
  using Pages = RecycledPages;
};
struct OldPolicy : OnPages {
  using Fit = snug::RovingScan;
  using Trailer = snug::TrailerNever;
};
struct WithoutThresholdPolicy : OnPages {
  using Fit = snug::PowerOfTwoBins;
  using Trailer = snug::TrailerAlways;
};
struct NewPolicy : WithoutThresholdPolicy {
  using Retention = snug::RetentionThreshold;
};
struct SnugPolicy : OnPages {
  using Retention = snug::RetentionThreshold;
};

// The same memory for every run.
struct OnePool {
  static constexpr size_t kBytes = size_t{32} << 20;  // for the largest of --large; what is not used is not touched
  static void* start() {
    static void* const memory = std::aligned_alloc(64, kBytes);
    return memory;
  }
};

// snug's default in a region of the caller's, as TLSF is over its pool.
struct SnugInRegion : snug::CellHeap<> {
  SnugInRegion() { add_region(OnePool::start(), OnePool::kBytes); }
};

struct RlsfInPool : Rlsf {
  RlsfInPool() : Rlsf(OnePool::start(), OnePool::kBytes) {}
};

// What the process calls malloc, in a cell heap's clothes.
struct Malloc {
  static void* allocate(size_t bytes) { return std::malloc(bytes); }
  static void deallocate(void* block) { std::free(block); }
};

// All of an operation is in the function that is timed, but what the heap itself keeps apart.
template <class Version>
struct CellCalls {
  [[gnu::noinline, gnu::flatten]] static void* allocate(Version& heap, size_t bytes) { return heap.allocate(bytes); }
  [[gnu::noinline, gnu::flatten]] static void deallocate(Version& heap, void* block) { heap.deallocate(block); }
};
// The library's own functions: one around them would be a second call.
template <>
struct CellCalls<RlsfInPool> {
  static constexpr auto& allocate = Rlsf::take;
  static constexpr auto& deallocate = Rlsf::give;
};

}  // namespace seeds
