#include "allocator/attribution.h"

#include "allocator/statistics.h"
#include "base/algorithm.h"
#include "base/bits.h"
#include "os/memory.h"
#include "os/residency.h"

namespace snug {
namespace {

// So much of `bytes` as `part` is of `whole`.
uint64_t share(uint64_t bytes, double part, double whole) {
  return whole <= 0 ? 0 : min(bytes, static_cast<uint64_t>(static_cast<double>(bytes) * part / whole));
}

class AttributionWalk {
 public:
  AttributionWalk(Attribution& attribution, bool has_forked)
      : has_forked_(has_forked), sums_(attribution.sums), classes_(attribution.classes) {}

  bool run() { return walk_chunks() && walk_large() && walk_records() && walk_guarded(); }
  uint64_t swapped_bytes() const { return swapped_ * os::page_size(); }

 private:
  static constexpr size_t kMost = os::PageMap::kMostAtOnce;

  // Adds the bytes in memory of a range, with its ends rounded outwards to OS pages.
  bool add_resident(uintptr_t from, uintptr_t to, uint64_t* bytes) {
    const size_t page = os::page_size();
    from = round_down(from, page);
    for (size_t left = (round_up(to, page) - from) / page; left != 0;) {
      const size_t count = min(left, kMost);
      uint64_t in_memory[kMost / 64];
      if (!map_.read(from, count, has_forked_, in_memory, &swapped_)) return false;
      for (const uint64_t word : in_memory) *bytes += count_ones(word) * page;
      from += count * page;
      left -= count;
    }
    return true;
  }

  bool walk_chunks() {
    PageId chunk = allocator.page_map.first_reserved();
    for (; chunk < allocator.page_map.end_reserved(); chunk = chunk + PageCount{kPagesPerChunk})
      if (allocator.spans.read_uses(chunk, uses_) && !walk_chunk(chunk)) return false;
    return true;
  }

  bool walk_chunk(PageId chunk) {
    const uintptr_t start = address_of(allocator.page_map.start_of(chunk));
    if (!map_.read(start, kChunkSize / os::page_size(), has_forked_, in_memory_, &swapped_)) return false;
    for (uint32_t i = 0; i != kPagesPerChunk;) {
      SlabView slab;
      uint32_t pages = 1;
      if (uses_[i] == PageUse::kSlab && allocator.registry.view_slab(chunk + PageCount{i}, slab)) {
        const uintptr_t end = min(slab.end(), start + kChunkSize);
        pages = max(static_cast<uint32_t>((end - start) >> kPageShift), i + 1) - i;
        add_slab(slab, start, i, pages);
      } else {
        add_page(uses_[i], i);
      }
      i += pages;
    }
    return true;
  }

  // Calls visit(offset in the chunk) for each part in memory of so many pages: an OS page, or a page where these are
  // shorter.
  template <class Visit>
  void for_each_resident(uint32_t first, uint32_t pages, Visit visit) const {
    const size_t os_page = os::page_size();
    const size_t end = PageCount{first + pages}.bytes();
    for (size_t offset = PageCount{first}.bytes(); offset != end; offset += part_)
      if (tests_bit(in_memory_, offset / os_page)) visit(offset);
  }

  void add_slab(const SlabView& slab, uintptr_t chunk, uint32_t first, uint32_t pages) {
    ClassMemory& its = classes_[slab.size_class()];
    its.out += slab.used_bytes();
    for_each_resident(first, pages, [&](size_t offset) {
      const size_t from = chunk + offset - slab.start();
      const size_t used = slab.used_between(from, from + part_);
      its.used += used;
      (slab.used_bytes() != 0 ? its.free : its.empty) += part_ - used;
    });
  }

  void add_page(PageUse use, uint32_t page) {
    uint64_t bytes = 0;
    for_each_resident(page, 1, [&](size_t) { bytes += part_; });
    if (use == PageUse::kRun) {
      sums_.requested += bytes;
      sums_.untouched += kPageSize - bytes;
    } else if (use != PageUse::kRecords) {  // these are counted with the others of the arena
      (use == PageUse::kOther ? sums_.other : sums_.free_pages) += bytes;
    }
  }

  bool walk_large() {
    return allocator.mappings.for_each_extent([&](const LargeExtent& one) {
      uint64_t used = 0;
      if (!add_resident(one.start, one.start + one.usable, &used) ||
          !add_resident(one.start + one.usable, one.start + one.writable, &sums_.kept_large))
        return false;
      sums_.requested += used;
      sums_.untouched += one.usable - min<uint64_t>(one.usable, used);
      return true;
    });
  }

  bool walk_records() {
    bool told = true;
    const auto add = [&](uintptr_t from, uintptr_t to) { told = told && add_resident(from, to, &sums_.records); };
    allocator.arena.for_each_mapping(add);
    allocator.page_map.for_each_array(add);
    const auto index = allocator.mappings.index_range();
    add(index.first, index.second);
    const auto heaps = allocator.registry.heap_table_range();
    add(heaps.first, heaps.second);
    return told;
  }

  bool walk_guarded() {
    const auto pages = allocator.guarded.range();
    return add_resident(pages.first, pages.second, &sums_.other);
  }

  os::PageMap map_;
  const bool has_forked_;
  const size_t part_ = min(os::page_size(), kPageSize);
  snug_memory& sums_;
  ClassMemory (&classes_)[kMaxClasses];
  PageUse uses_[kPagesPerChunk];
  uint64_t in_memory_[kMost / 64];
  uint64_t swapped_ = 0;  // OS pages
};

// Blocks out of slabs are live, in a cache or on their way home. Which ones is not looked up: of the blocks that are
// not live the same part counts as touched as of all blocks of their class.
void divide_used(Attribution& attribution, RequestSizes& sizes) {
  const ClassUses uses = gather_uses([](const ThreadCache&, uint64_t) {});
  const auto cached_of = [&](size_t c) { return uses.of[c].cached * allocator.table->classes[c].block_size; };
  uint64_t out = 0;  // live or on their way
  for (size_t c = 1; c < allocator.table->count; ++c)
    out += attribution.classes[c].out - min(cached_of(c), attribution.classes[c].out);
  snug_memory& sums = attribution.sums;
  for (size_t c = 1; c < allocator.table->count; ++c) {
    const ClassMemory& its = attribution.classes[c];
    const auto whole = static_cast<double>(its.out);
    const uint64_t cached = share(its.used, static_cast<double>(cached_of(c)), whole);
    const uint64_t underway =
        share(its.used - cached, static_cast<double>(max<int64_t>(uses.bytes_mailed, 0)), static_cast<double>(out));
    const uint64_t live = its.used - cached - underway;
    const uint64_t requested = live == 0 ? 0 : share(live, sizes.mean(c), allocator.table->classes[c].block_size);
    sums.cached += cached;
    sums.on_their_way += underway;
    sums.requested += requested;
    sums.rounding += live - requested;
    sums.free_in_slabs += its.free;
    sums.empty_slabs += its.empty;
    // Blocks that were carved for a cache are untouched until the cache hands them out.
    const uint64_t untouched = its.out - its.used;
    sums.untouched += untouched - share(untouched, static_cast<double>(cached_of(c)), whole);
  }
}

}  // namespace

bool attribute_memory(Attribution& attribution, RequestSizes& sizes, bool has_forked) {
  attribution = {};
  AttributionWalk walk(attribution, has_forked);
  if (!walk.run()) return false;
  divide_used(attribution, sizes);
  snug_memory& sums = attribution.sums;
  sums.swapped = walk.swapped_bytes();
  sums.untouched -= min(sums.untouched, sums.swapped);
  sums.rss = sums.requested + sums.rounding + sums.cached + sums.on_their_way + sums.free_in_slabs + sums.empty_slabs +
             sums.free_pages + sums.kept_large + sums.records + sums.other;
  return true;
}

}  // namespace snug
