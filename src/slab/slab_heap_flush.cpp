// SlabHeap's flush: blocks that come back, to its own slabs or to be sent to others.
#include "base/algorithm.h"
#include "base/probe.h"
#include "slab/block_check.h"
#include "slab/heap_registry.h"
#include "slab/outbox.h"
#include "slab/put_back.h"
#include "slab/slab_heap.h"

namespace snug {
namespace {

// From so many consecutive blocks of one other heap on, a quarter of an outbox, they are sent at once; fewer wait in it
// for more of their owner's.
constexpr size_t kWorthSending = Outbox::kCapacity / 4;
// How many records a flush fetches at once.
constexpr size_t kFetchedAhead = 16;

// How many blocks from the first on, which lies on `page`, have the same class and owner.
size_t row_of_owner(const PageMap& page_map, size_t page, void* const* blocks, size_t count) {
  const auto owner_of = [&](size_t index) { return page_map.entry({static_cast<uint32_t>(index)}).owner(); };
  const ScaledClass its_class = page_map.class_at(page);
  const uint16_t owner = owner_of(page);
  size_t row = 1;
  for (; row != count; ++row) {
    const size_t next = page_map.index_of(blocks[row]);
    if (next == page) continue;
    if (next >= page_map.page_limit() || page_map.class_at(next) != its_class || owner_of(next) != owner) break;
    page = next;
  }
  return row;
}

}  // namespace

void SlabHeap::flush(size_t size_class, void* const* blocks, size_t count) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  const PageMap& page_map = registry_.page_map();
  SNUG_PROBE_3("flush", sizes.block_size, count, id_);
  Outbox outbox(*this, size_class);
  size_t home = 0;
  size_t fetched = 0;
  for (size_t done = 0; done != count;) {
    if (done >= fetched) {
      fetched = done + min(count - done, kFetchedAhead);
      if (!row_at(blocks + done, count - done, sizes.block_size)) fetch_records(blocks + done, fetched - done);
    }
    size_t taken;
    const PageEntry entry = entry_of_block(page_map, size_class, blocks[done]);
    if (entry.owner() == id_) {
      taken = put_home(*entry.record<Slab>(), sizes, blocks + done, count - done);
      home += taken;
    } else {
      const size_t most = min(count - done, Outbox::kCapacity);
      taken = row_of_owner(page_map, page_map.index_of(blocks[done]), blocks + done, most);
      if (taken >= kWorthSending) {
        send(size_class, blocks + done, taken, entry.owner());
      } else {
        prefetch_for_write(&entry.record<Slab>()->remote(sizes));
        outbox.add(blocks + done, taken, entry.owner());
      }
    }
    done += taken;
  }
  if (home == 0) return;
  count_home(size_class, home);
  registry_.note_change(*this);
}

// Scattered blocks lie in many slabs: the slabs' records are prefetched together, not one after the other.
void SlabHeap::fetch_records(void* const* blocks, size_t count) const {
  const PageMap& page_map = registry_.page_map();
  for (size_t i = 0; i < count; ++i) {
    const size_t page = page_map.index_of(blocks[i]);
    if (page >= page_map.page_limit()) continue;
    const PageEntry entry = page_map.entry({static_cast<uint32_t>(page)});
    if (entry.owner() == id_) prefetch_for_write(entry.record<Slab>());
  }
}

// Takes back the first of the blocks, and with it a row or a cluster that it begins. Returns how many.
SNUG_ALWAYS_INLINE size_t SlabHeap::put_home(Slab& slab, const SizeClass& sizes, void* const* blocks, size_t count) {
  size_t done = 1;
  if (!begins_cluster(blocks, count, sizes.block_size))
    put_back_lone(slab, sizes, *blocks);
  else if (begins_row(blocks, count, sizes.block_size))
    done = put_back_row(slab, sizes, blocks, count);
  else
    done = put_back_cluster(slab, sizes, blocks, count);
  if (slab.full || slab.used() == 0) relist(slab);
  return done;
}

}  // namespace snug
