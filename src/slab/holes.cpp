#include "slab/holes.h"

#include "base/algorithm.h"
#include "base/fatal.h"
#include "base/fixed_array.h"
#include "span/span_stores.h"

namespace snug {
namespace {

// Between two holes lie a page and a block that are not free.
constexpr size_t most_holes(size_t first, size_t last) {
  constexpr size_t kSmallestOsPage = 4096;
  size_t most = 0;
  for (size_t size = first; size <= last; size += step_at(size + 1)) {
    const SizeClass sizes = make_size_class(size, 1);
    const size_t pages = sizes.pages_per_slab * kPageSize / kSmallestOsPage;
    most = max(most, min((pages + 1) / 2, sizes.blocks_per_slab / size_t{2} + 1));
  }
  return most;
}

}  // namespace

size_t give_back_holes(Slab& slab, SpanStores& spans) {
  const size_t worth = slab.bytes_in_holes();
  if (worth == 0) return 0;
  slab.purged = !spans.prepare_for_holes(*slab.span, worth);
  const size_t bytes = slab.purge_holes();
  spans.count_holes(bytes);
  return bytes;
}

bool Holes::take(Slab& slab) {
  static_assert(most_holes(kSmallStep, kLargestSizeMax) <= kMost);
  slab_ = &slab;
  count_ = 0;
  blocks_ = 0;
  if (!slab.may_have_holes()) return false;
  slab.purged = true;
  slab.for_each_hole([this](size_t from, size_t to) { add(from, to); });
  for (const Hole& hole : ArrayView(holes_, count_)) slab.take_row(hole.slot, hole.count);
  return count_ != 0;
}

void Holes::add(size_t from, size_t to) {
  // Blocks that were never used may be handed out meanwhile, so the page that the last used one shares with them stays.
  if (slab_->carved != slab_->capacity)
    to = min(to, round_down(size_t{slab_->carved} * slab_->block_size, os::page_size()));
  if (from >= to) return;
  SNUG_ASSERT(count_ != kMost, "no slab has more");
  const size_t slot = from / slab_->block_size;
  const size_t end = min<size_t>((to + slab_->block_size - 1) / slab_->block_size, slab_->carved);
  holes_[count_++] = {static_cast<uint32_t>(from), static_cast<uint32_t>(to), static_cast<uint16_t>(slot),
                      static_cast<uint16_t>(end - slot)};
  blocks_ += end - slot;
}

size_t Holes::bytes() const {
  size_t bytes = 0;
  for (const Hole& hole : ArrayView(holes_, count_)) bytes += hole.to - hole.from;
  return bytes;
}

size_t Holes::purge() const {
  size_t bytes = 0;
  for (const Hole& hole : ArrayView(holes_, count_))
    if (os::purge(slab_->start + hole.from, hole.to - hole.from)) bytes += hole.to - hole.from;
  return bytes;
}

const void* Holes::put_back() {
  for (const Hole& hole : ArrayView(holes_, count_)) {
    size_t slot = hole.slot + slab_->put_back(hole.slot, hole.count);
    if (slot == size_t{hole.slot} + hole.count) continue;
    while (!tests_bit(slab_->free_bits(), slot)) ++slot;
    return slab_->block(slot);
  }
  return nullptr;
}

}  // namespace snug
