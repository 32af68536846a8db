#include "allocator/statistics.h"

#include <errno.h>

#include "allocator/allocator.h"
#include "base/atomic.h"
#include "base/fatal.h"
#include "base/shared_holds.h"
#include "base/text.h"
#include "os/appended_file.h"
#include "os/process.h"

namespace snug {
namespace {

enum class Unit { kCount, kBytes };

struct Figure {
  const char* name;
  uint64_t snug_stats::* value;
  Unit unit;
  const char* words;  // follow the amount
};

constexpr Figure kFigures[] = {
    {"allocations", &snug_stats::allocations, Unit::kCount, "blocks handed out"},
    {"bytes_in_use", &snug_stats::bytes_in_use, Unit::kBytes, "in live blocks"},
    {"blocks_in_use", &snug_stats::blocks_in_use, Unit::kCount, "live blocks"},
    {"bytes_cached", &snug_stats::bytes_cached, Unit::kBytes, "free in thread caches or on their way home"},
    {"bytes_in_slabs", &snug_stats::bytes_in_slabs, Unit::kBytes, "held as slabs"},
    {"bytes_large", &snug_stats::bytes_large, Unit::kBytes, "in live large blocks"},
    {"blocks_large", &snug_stats::blocks_large, Unit::kCount, "live large blocks"},
    {"bytes_retained", &snug_stats::bytes_retained, Unit::kBytes, "empty and kept"},
    {"bytes_reserved", &snug_stats::bytes_reserved, Unit::kBytes, "of address space"},
    {"bytes_metadata", &snug_stats::bytes_metadata, Unit::kBytes, "of records"},
    {"bytes_purged", &snug_stats::bytes_purged, Unit::kBytes, "given back so far"},
    {"bytes_missed", &snug_stats::bytes_missed, Unit::kBytes, "of that wanted again within a second"},
    {"refills", &snug_stats::refills, Unit::kCount, "batches to thread caches"},
    {"flushes", &snug_stats::flushes, Unit::kCount, "batches from thread caches"},
    {"batches_sent", &snug_stats::batches_sent, Unit::kCount, "batches to other threads' heaps"},
    {"threads", &snug_stats::threads, Unit::kCount, "threads with a cache"},
    {"heaps_abandoned", &snug_stats::heaps_abandoned, Unit::kCount, "heaps without a thread"},
    {"retain", &snug_stats::retain, Unit::kBytes, "of empty pages kept at most"},
    {"retain_large", &snug_stats::retain_large, Unit::kBytes, "of freed large blocks kept at most"},
};

struct Part {
  const char* name;
  uint64_t snug_memory::* bytes;
};

constexpr Part kParts[] = {
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

// A line with all statistics and the peak, which has an entry for each class.
using ReportLine = Text<16384>;
// A line with only the count of a process's allocations.
using CountLine = Text<512>;

// What every line begins with.
template <size_t Capacity>
void add_process(Text<Capacity>& line) {
  line.add("{\"pid\":").add(uint64_t{os::process_id()}).add(",\"program\":\"");
  for (const char* c = program_invocation_short_name; *c != 0; ++c)
    if (*c >= ' ' && *c != '"' && *c != '\\') line.put(*c);
  line.put('"');
}

uint64_t count_allocations(const CacheStatistics& caches) {
  return caches.allocations + allocator.shared_allocations.load(kRelaxed);
}

void report_count() {
  CountLine line;
  add_process(line);
  line.add(",\"allocations\":").add(count_allocations(allocator.caches.statistics())).add("}\n");
  os::append_to_file(allocator.config.report, line.data(), line.size());
}

// Adds how often process-wide locks were taken, in builds with assertions.
void add_takings(ReportLine& line) {
  if constexpr (!SharedHolds::kCounted) return;
  line.add(",\"shared_locks\":").add(SharedHolds::taken()).add(",\"taken_in\":[");
  const char* before = "";
  SharedHolds::for_each_function([&](const char* function, uint64_t takings) {
    line.add(before).add("[\"").add(function).add("\",").add(takings).add("]");
    before = ",";
  });
  line.add("]");
}

void add_peak(ReportLine& line, const Attribution& peak) {
  line.add(",\"peak\":{\"looks\":").add(allocator.peak.looks());
  for (const Part& part : kParts) line.add(",\"").add(part.name).add("\":").add(peak.sums.*part.bytes);
  line.add(",\"classes\":[");
  const char* before = "";
  for (size_t c = 1; c < allocator.table->count; ++c) {
    const ClassMemory& its = peak.classes[c];
    if (its.used + its.free + its.empty == 0) continue;
    line.add(before).add("{\"size\":").add(allocator.table->classes[c].block_size).add(",\"used\":").add(its.used);
    line.add(",\"free\":").add(its.free).add(",\"empty\":").add(its.empty).add("}");
    before = ",";
  }
  line.add("]}");
}

// Adds "512 B", "1.50 KiB" or "11.77 MiB", which people read more easily than long numbers.
void add_bytes(Text<32>& text, uint64_t bytes) {
  constexpr const char* kMultiples[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  unsigned multiple = 0;
  while (multiple + 1 < sizeof kMultiples / sizeof *kMultiples && bytes >> 10 * (multiple + 1) != 0) ++multiple;
  const unsigned shift = 10 * multiple;
  text.add(bytes >> shift);
  if (multiple != 0) {
    const uint64_t hundredths = (bytes - (bytes >> shift << shift)) * 100 >> shift;
    text.put('.').put(static_cast<char>('0' + hundredths / 10)).put(static_cast<char>('0' + hundredths % 10));
  }
  text.add(kMultiples[multiple]);
}

// Adds blocks outside of slabs and bytes in slabs, over all heaps.
void add_slabs(snug_stats& stats) {
  allocator.registry.for_each([&](const SlabHeap& heap) {
    stats.batches_sent += heap.batches_sent();
    for (size_t c = 1; c < allocator.table->count; ++c) {
      const SizeClass& sizes = allocator.table->classes[c];
      stats.blocks_in_use += heap.blocks_out(c);
      stats.bytes_in_use += heap.blocks_out(c) * sizes.block_size;
      stats.bytes_in_slabs += heap.slab_count(c) * sizes.pages_per_slab * kPageSize;
    }
  });
}

void subtract(uint64_t& from, uint64_t amount) { from -= amount < from ? amount : from; }

// Subtracts the blocks that are out of slabs but free: on their way home, or in thread caches.
void subtract_free(snug_stats& stats) {
  int64_t blocks_mailed = 0;
  int64_t bytes_mailed = 0;
  allocator.registry.for_each([&](const SlabHeap& heap) {
    blocks_mailed += heap.blocks_mailed();
    bytes_mailed += heap.bytes_mailed();
  });
  // The sums are read while other threads run, so that they may be negative for a moment.
  const uint64_t mailed = bytes_mailed > 0 ? static_cast<uint64_t>(bytes_mailed) : 0;
  subtract(stats.blocks_in_use, blocks_mailed > 0 ? static_cast<uint64_t>(blocks_mailed) : 0);
  subtract(stats.bytes_in_use, mailed);
  stats.bytes_cached += mailed;
  allocator.caches.for_each([&](const ThreadCache& cache) {
    for (size_t c = 1; c < allocator.table->count; ++c) {
      const uint64_t blocks = cache.cached(c);
      const uint64_t bytes = blocks * allocator.table->classes[c].block_size;
      stats.bytes_cached += bytes;
      subtract(stats.blocks_in_use, blocks);
      subtract(stats.bytes_in_use, bytes);
    }
  });
}

}  // namespace

snug_stats gather_statistics() {
  const LockGuard hands(allocator.background.hands());
  snug_stats stats{};
  if (!allocator.is_open()) return stats;
  allocator.caches.reap_orphans();
  // What is free in a cache is subtracted from what its heap counts as out.
  const CacheRevocation::Exclusive exclusive(allocator.revocation);
  add_slabs(stats);
  subtract_free(stats);
  const LargeStatistics large = allocator.mappings.statistics();
  const SpanStatistics spans = allocator.spans.statistics();
  stats.bytes_large = large.bytes_usable + spans.bytes_in_runs;
  stats.blocks_large = large.blocks + spans.runs;
  stats.bytes_in_use += stats.bytes_large + allocator.profile.bytes_on_pages();
  stats.blocks_in_use += stats.blocks_large + allocator.profile.blocks_on_pages();
  stats.bytes_retained = spans.bytes_dirty + large.bytes_kept;
  stats.retain = spans.retain;
  stats.retain_large = large.retain;
  stats.bytes_reserved = allocator.page_map.bytes_reserved() + allocator.page_map.bytes_of_arrays() +
                         allocator.arena.bytes_mapped() + large.bytes_mapped + large.bytes_index;
  stats.bytes_metadata = allocator.arena.bytes_used() + large.bytes_index;
  stats.bytes_missed = spans.bytes_refaulted;
  stats.bytes_purged = spans.bytes_purged + large.bytes_released + allocator.registry.bytes_in_holes();
  const CacheStatistics caches = allocator.caches.statistics();
  stats.allocations = count_allocations(caches);
  stats.refills = caches.refills;
  stats.flushes = caches.flushes;
  stats.threads = caches.threads;
  stats.heaps_abandoned = allocator.registry.abandoned_count();
  return stats;
}

bool gather_memory(snug_memory& memory) {
  memory = {};
  return !allocator.is_open() || allocator.peak.measure(memory);
}

struct snug_mallinfo gather_mallinfo() {
  const snug_stats stats = gather_statistics();
  const SpanStatistics spans = allocator.is_open() ? allocator.spans.statistics() : SpanStatistics{};
  const LargeStatistics large = allocator.is_open() ? allocator.mappings.statistics() : LargeStatistics{};
  struct snug_mallinfo info{};
  info.arena = spans.chunks * kChunkSize;  // bytes obtained for blocks that have no mapping of their own
  info.ordblks = 1;
  info.hblks = large.blocks;
  info.hblkhd = large.bytes_usable;
  info.fsmblks = stats.bytes_cached;
  info.uordblks = stats.bytes_in_use - info.hblkhd;
  info.fordblks = info.arena - info.uordblks;
  info.keepcost = stats.bytes_retained;
  return info;
}

void print_statistics() {
  const snug_stats stats = gather_statistics();
  Text<2048> text;
  text.add("snug: statistics of process ").add(uint64_t{os::process_id()}).put('\n');
  for (const Figure& figure : kFigures) {
    Text<32> number;
    if (figure.unit == Unit::kBytes)
      add_bytes(number, stats.*figure.value);
    else
      number.add(stats.*figure.value);
    text.add("  ");
    for (size_t pad = number.size(); pad < 14; ++pad) text.put(' ');
    text.add(number.data()).add("  ").add(figure.words).put('\n');
  }
  write_line(text.data(), text.size());
}

void report_statistics() {
  if (allocator.config.report[0] == 0) return;
  if (allocator.config.reporting == Reporting::kCount) return report_count();
  const snug_stats stats = gather_statistics();
  static constinit ReportLine line;  // too long for some stacks; a process ends once
  add_process(line);
  for (const Figure& figure : kFigures) line.add(",\"").add(figure.name).add("\":").add(stats.*figure.value);
  add_takings(line);
  if (const Attribution* peak = allocator.peak.conclude(); peak != nullptr) add_peak(line, *peak);
  line.add("}\n");
  // A failure is not reported: what was standard error may by now be a file of the program's.
  os::append_to_file(allocator.config.report, line.data(), line.size());
}

}  // namespace snug
