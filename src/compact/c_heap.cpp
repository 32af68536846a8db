#include "compact/c_heap.h"

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/in_place.h"
#include "compact/handle_table.h"
#include "os/thread.h"

namespace snug {
namespace {

using HeapKind = snug_compact_heap::Kind;

// Bytes of a region for each handle, by default: the table takes an eighth of the region. With half of that it would
// take a quarter; with twice of it, a heap of blocks below 128 bytes would run out of handles.
constexpr size_t kBytesAHandle = 64;

constexpr const BlockMap* kMaps[] = {&kFineMap, &kCf16Map, &kCf32Map};

uint16_t next_salt() {
  // Reverses the bits: the salts of the first heaps differ in bits that numbers of a slot's first blocks do not use.
  static constinit Atomic<uint32_t> heaps{0};
  uint32_t number = heaps.fetch_add(1, kRelaxed);
  uint16_t salt = 0;
  for (unsigned bit = 0; bit < 15; ++bit, number >>= 1) salt = static_cast<uint16_t>(salt << 1 | (number & 1));
  return salt;
}

}  // namespace

bool is_wrong(const snug_compact_options& options) {
  const bool in_region = options.region != nullptr;
  return static_cast<unsigned>(options.map) > SNUG_COMPACT_CF32 || (options.direct != 0 && options.direct != 1) ||
         static_cast<unsigned>(options.sharing) > SNUG_COMPACT_CORES || (options.direct && options.sharing != 0) ||
         in_region != (options.region_bytes != 0) || options.handles >= HandleTable::kMostSlots ||
         (in_region && options.sharing == SNUG_COMPACT_CORES);
}

snug_compact_heap::Kind kind_of(const snug_compact_options& options) {
  if (options.direct) return HeapKind::kDirect;
  return options.sharing == SNUG_COMPACT_CORES ? HeapKind::kOfCores : HeapKind::kOne;
}

CompactMemory cut_region(const snug_compact_options& options) {
  CompactMemory memory;
  const uintptr_t end = address_of(options.region) + options.region_bytes;
  const uintptr_t heap = round_up(address_of(options.region), alignof(snug_compact_heap));
  const uintptr_t table = heap + sizeof(snug_compact_heap);
  if (!options.direct)
    memory.handles = min(or_else(options.handles, options.region_bytes / kBytesAHandle) + 1, HandleTable::kMostSlots);
  const uintptr_t pages = round_up(table + HandleTable::bytes_for(memory.handles), kPageSize);
  if (end < address_of(options.region) || pages >= end || end - pages < 3 * kPageSize) return {};
  memory.heap = at<snug_compact_heap>(heap);
  memory.table = at<void>(table);
  memory.pages = at<char>(pages);
  memory.page_bytes = end - pages;
  return memory;
}

bool open_heap(snug_compact_heap& heap, const snug_compact_options& options, const PageSource& source,
               const CompactMemory& memory) {
  const BlockMap& map = *kMaps[options.map];
  if (heap.kind == HeapKind::kDirect) {
    ::new (InPlace{&heap.pages}) BlockPages(map, source, false);
    return true;
  }
  const size_t slots = or_else(options.handles, HandleTable::kMostSlots - 1) + 1;
  if (heap.kind == HeapKind::kOfCores)
    return (::new (InPlace{&heap.cores}) CoreHeaps(map, source, next_salt(), os::current_core))
        ->open(os::core_count(), slots);
  CompactFit& fit =
      *::new (InPlace{&heap.fit}) CompactFit(map, source, next_salt(), static_cast<Sharing>(options.sharing));
  if (!heap.in_region) return fit.handles().open(slots);
  fit.handles().open(memory.table, memory.handles);
  return true;
}

void tell_statistics(const CompactFit::Totals& all, snug_compact_stats* stats) {
  const BlockPages::Totals& totals = all.pages;
  *stats = {};
  stats->blocks = totals.blocks;
  stats->bytes_blocks = totals.bytes_blocks;
  stats->bytes_not_full = totals.bytes_free;
  stats->bytes_tails = totals.bytes_tails;
  stats->bytes_large = totals.bytes_large;
  stats->bytes_spare = totals.bytes_spare;
  stats->bytes_records = totals.bytes_records;
  stats->pages = totals.pages;
  stats->rows_not_full = totals.rows_open + totals.rows_held;
  stats->rows_pinned = totals.rows_held;
  stats->bytes_bound = totals.bytes_bound;
  stats->bytes_handles = all.bytes_handles;
  stats->pins = totals.pins;
  stats->moves_in_flight = totals.moves_under_way;
  stats->moves = totals.moves.finished;
  stats->bytes_moved = totals.moves.bytes;
  stats->moves_aborted = totals.moves.aborted;
  stats->waits_heap = all.waits_heap;
  stats->waits_classes = totals.waits_classes;
  stats->waits_handles = all.waits_handles;
  stats->waits_pages = all.waits_pages;
}

}  // namespace snug
