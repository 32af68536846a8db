// The fields of snug_stats and snug_memory by name, for all that prints them.
#pragma once

#include <stdint.h>

#include "snug/snug.h"

namespace snug {

enum class FigureUnit { kCount, kBytes };

// A field of snug_stats.
struct Figure {
  const char* name;
  uint64_t snug_stats::* value;
  FigureUnit unit;
  const char* words;  // follow the amount
  bool only_grows = false;
};

inline constexpr Figure kFigures[] = {
    {"allocations", &snug_stats::allocations, FigureUnit::kCount, "blocks handed out", true},
    {"bytes_in_use", &snug_stats::bytes_in_use, FigureUnit::kBytes, "in live blocks"},
    {"blocks_in_use", &snug_stats::blocks_in_use, FigureUnit::kCount, "live blocks"},
    {"bytes_cached", &snug_stats::bytes_cached, FigureUnit::kBytes, "free in thread caches or on their way home"},
    {"bytes_in_slabs", &snug_stats::bytes_in_slabs, FigureUnit::kBytes, "held as slabs"},
    {"bytes_large", &snug_stats::bytes_large, FigureUnit::kBytes, "in live large blocks"},
    {"blocks_large", &snug_stats::blocks_large, FigureUnit::kCount, "live large blocks"},
    {"bytes_retained", &snug_stats::bytes_retained, FigureUnit::kBytes, "empty and kept"},
    {"bytes_reserved", &snug_stats::bytes_reserved, FigureUnit::kBytes, "of address space"},
    {"bytes_metadata", &snug_stats::bytes_metadata, FigureUnit::kBytes, "of records"},
    {"bytes_purged", &snug_stats::bytes_purged, FigureUnit::kBytes, "given back so far", true},
    {"bytes_missed", &snug_stats::bytes_missed, FigureUnit::kBytes, "of that taken again since", true},
    {"refills", &snug_stats::refills, FigureUnit::kCount, "batches to thread caches", true},
    {"flushes", &snug_stats::flushes, FigureUnit::kCount, "batches from thread caches", true},
    {"batches_sent", &snug_stats::batches_sent, FigureUnit::kCount, "batches to other threads' heaps", true},
    {"threads", &snug_stats::threads, FigureUnit::kCount, "threads with a cache"},
    {"heaps_abandoned", &snug_stats::heaps_abandoned, FigureUnit::kCount, "heaps without a thread"},
    {"retain", &snug_stats::retain, FigureUnit::kBytes, "of empty pages kept at most"},
    {"retain_large", &snug_stats::retain_large, FigureUnit::kBytes, "of freed large blocks kept at most"},
};

// A part of snug_memory.
struct MemoryPart {
  const char* name;
  uint64_t snug_memory::* bytes;
};

inline constexpr MemoryPart kMemoryParts[] = {
    {"rss", &snug_memory::rss},
    {"requested", &snug_memory::requested},
    {"rounding", &snug_memory::rounding},
    {"cached", &snug_memory::cached},
    {"on_their_way", &snug_memory::on_their_way},
    {"free_in_slabs", &snug_memory::free_in_slabs},
    {"empty_slabs", &snug_memory::empty_slabs},
    {"free_pages", &snug_memory::free_pages},
    {"kept_large", &snug_memory::kept_large},
    {"records", &snug_memory::records},
    {"other", &snug_memory::other},
    {"untouched", &snug_memory::untouched},
    {"swapped", &snug_memory::swapped},
};

}  // namespace snug
