// What stands behind the C functions of snug/compact_heap_c.h: one of three heaps, in memory of the allocator's or in a
// region of the caller's. The functions here are called once for a heap, or for its statistics; each is thread-safe for
// a heap of its own.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "compact/compact_fit.h"
#include "compact/core_heaps.h"
#include "compact/slice_margin.h"
#include "snug/compact_heap_c.h"

// A type that is incomplete in C. One of its three heaps is used.
struct SNUG_HIDDEN snug_compact_heap {
  enum class Kind : uint8_t { kOne, kOfCores, kDirect };

  snug_compact_heap(Kind which, bool is_in_region) : kind(which), in_region(is_in_region) {}
  ~snug_compact_heap() {}

  const Kind kind;
  const bool in_region;
  snug::SliceMargin margin;
  union {
    snug::CompactFit fit;
    snug::CoreHeaps cores;
    snug::BlockPages pages;
  };
};

namespace snug {

// An option that is not set has its default.
inline size_t or_else(size_t option, size_t otherwise) { return option != 0 ? option : otherwise; }

// Where a heap lies, and what it begins with.
struct SNUG_HIDDEN CompactMemory {
  snug_compact_heap* heap = nullptr;
  void* table = nullptr;  // of handles
  size_t handles = 0;
  char* pages = nullptr;
  size_t page_bytes = 0;
};

// True if an option has a value that does not exist, or two of them exclude each other.
bool is_wrong(const snug_compact_options& options);
snug_compact_heap::Kind kind_of(const snug_compact_options& options);

// Divides a region: the heap, its table of handles, and from the next page boundary on the source's pages: at least one
// for the source's own tables, one for records and one for blocks. No heap if the region is too small for these.
CompactMemory cut_region(const snug_compact_options& options);

// Makes the heap's members. False: there is no memory.
bool open_heap(snug_compact_heap& heap, const snug_compact_options& options, const PageSource& source,
               const CompactMemory& memory);

void tell_statistics(const CompactFit::Totals& all, snug_compact_stats* stats);

}  // namespace snug
