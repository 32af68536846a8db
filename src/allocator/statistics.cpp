#include "allocator/statistics.h"

#include "allocator/figures.h"
#include "base/algorithm.h"
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

uint64_t without(uint64_t from, uint64_t amount) { return from - min(amount, from); }

// Adds what is in slabs, and of the blocks that are out of them those that are neither on their way home nor in caches.
void add_slabs(snug_stats& stats) {
  const ClassUses uses = gather_uses([&](const ThreadCache&, uint64_t bytes) { stats.bytes_cached += bytes; });
  uint64_t blocks_cached = 0;
  for (size_t c = 1; c < allocator.table->count; ++c) {
    const ClassUse& use = uses.of[c];
    const SizeClass& sizes = allocator.table->classes[c];
    stats.blocks_in_use += use.out;
    stats.bytes_in_use += use.out * sizes.block_size;
    stats.bytes_in_slabs += use.slabs * sizes.pages_per_slab * kPageSize;
    blocks_cached += use.cached;
  }
  stats.batches_sent = uses.batches_sent;
  stats.bytes_cached += static_cast<uint64_t>(max<int64_t>(uses.bytes_mailed, 0));
  blocks_cached += static_cast<uint64_t>(max<int64_t>(uses.blocks_mailed, 0));
  stats.blocks_in_use = without(stats.blocks_in_use, blocks_cached);
  stats.bytes_in_use = without(stats.bytes_in_use, stats.bytes_cached);
}

}  // namespace

uint64_t count_allocations(const CacheStatistics& caches) {
  return caches.allocations + allocator.shared_allocations.load(kRelaxed);
}

namespace {

// With what the stores say at the same moment.
snug_stats gather(SpanStatistics& spans, LargeStatistics& large) {
  const LockGuard hands(allocator.background.hands());
  snug_stats stats{};
  if (!allocator.is_open()) return stats;
  allocator.caches.reap_orphans();
  // What is free in a cache is subtracted from what its heap counts as out.
  const CacheRevocation::Exclusive exclusive(allocator.revocation);
  add_slabs(stats);
  large = allocator.mappings.statistics();
  spans = allocator.spans.statistics();
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
  stats.retain = allocator.spans.bounds().most();
  stats.retain_large = allocator.mappings.bounds().most();
  stats.bytes_reserved = allocator.page_map.bytes_reserved() + allocator.page_map.bytes_of_arrays() +
                         allocator.arena.bytes_mapped() + large.bytes_mapped + large.bytes_index;
  stats.bytes_metadata = allocator.arena.bytes_used() + large.bytes_index;
  stats.bytes_missed = spans.bytes_refaulted;
  stats.bytes_purged = spans.bytes_purged + large.bytes_released + allocator.spans.bytes_in_holes();
  const CacheStatistics caches = allocator.caches.statistics();
  stats.allocations = count_allocations(caches);
  stats.refills = caches.refills;
  stats.flushes = caches.flushes;
  stats.threads = caches.threads;
  stats.heaps_abandoned = allocator.registry.abandoned_count();
  return stats;
}

}  // namespace

snug_stats gather_statistics() {
  SpanStatistics spans;
  LargeStatistics large;
  return gather(spans, large);
}

bool gather_memory(snug_memory& memory) {
  memory = {};
  return !allocator.is_open() || allocator.peak.measure(memory);
}

struct snug_mallinfo gather_mallinfo() {
  SpanStatistics spans;
  LargeStatistics large;
  const snug_stats stats = gather(spans, large);
  struct snug_mallinfo info{};
  info.arena = spans.chunks * kChunkSize;  // bytes obtained for blocks that have no mapping of their own
  info.ordblks = 1;
  info.hblks = large.blocks;
  info.hblkhd = large.bytes_usable;
  info.fsmblks = stats.bytes_cached;
  info.uordblks = without(stats.bytes_in_use, info.hblkhd);
  info.fordblks = without(info.arena, info.uordblks);
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
