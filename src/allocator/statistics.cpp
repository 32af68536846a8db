#include "allocator/statistics.h"

#include "allocator/allocator.h"
#include "allocator/figures.h"
#include "base/atomic.h"
#include "base/fatal.h"
#include "base/text.h"
#include "os/process.h"

namespace snug {
namespace {

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

uint64_t count_allocations(const CacheStatistics& caches) {
  return caches.allocations + allocator.shared_allocations.load(kRelaxed);
}

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
  const HeapFigures heaps = allocator.user_heaps.figures_of_all();
  stats.bytes_in_use += heaps.in_use;
  stats.blocks_in_use += heaps.blocks;
  stats.bytes_cached += heaps.cached;
  stats.bytes_in_slabs += heaps.in_slabs;
  stats.bytes_retained = spans.bytes_dirty + large.bytes_kept + allocator.user_heaps.bytes_in_stocks();
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
    if (figure.unit == FigureUnit::kBytes)
      add_bytes(number, stats.*figure.value);
    else
      number.add(stats.*figure.value);
    text.add("  ");
    for (size_t pad = number.size(); pad < 14; ++pad) text.put(' ');
    text.add(number.data()).add("  ").add(figure.words).put('\n');
  }
  write_line(text.data(), text.size());
}

}  // namespace snug
