// Sums of what a heap's pages hold, by class and in all.
#include "compact/block_pages.h"

namespace snug {

void BlockPages::Totals::add(const PageBin& bin) {
  const BlockClass& sizes = bin.sizes;
  const OptionalLockGuard guard(bin.lock);
  blocks += bin.used - (bin.move.is_under_way() ? 1 : 0);
  bytes_blocks += bin.used * sizes.block;
  bytes_free += (bin.pages * sizes.blocks - bin.used) * sizes.block;
  bytes_tails += bin.pages * sizes.tail();
  pages += bin.pages * sizes.pages;
  rows_open += bin.open();
  rows_held += bin.held();
  size_t bound = 0;
  if (add_overflows(bin.bound, bin.held(), &bound) ||
      multiply_overflows(bound, (sizes.blocks - size_t{1}) * sizes.block, &bound) ||
      add_overflows(bytes_bound, bound, &bytes_bound))
    bytes_bound = SIZE_MAX;
  pins += bin.pins;
  moves_under_way += bin.move.is_under_way() ? 1 : 0;
  moves.finished += bin.moves.finished;
  moves.bytes += bin.moves.bytes;
  moves.aborted += bin.moves.aborted;
  waits_classes += bin.lock.waits();
}

BlockPages::Totals BlockPages::totals() const {
  Totals totals;
  for_each_bin([&](const PageBin& bin) { totals.add(bin); });
  const SharedOptionalLockGuard guard(lock_);
  totals.blocks += large_blocks_;
  totals.bytes_blocks += bytes_large_;
  totals.bytes_large = bytes_large_;
  totals.bytes_records = bytes_records_;
  totals.bytes_spare = spares_.bytes();
  totals.pages = (bytes_pages_ + kPageSize - 1) / kPageSize;  // large blocks' as well
  return totals;
}

size_t BlockPages::totals_of(size_t bytes, Totals& totals) const {
  const size_t size_class = class_for(bytes, 1);
  if (size_class == CompactPage::kLarge) return 0;
  if (const PageBin* const bin = this->bin(size_class); bin != nullptr) totals.add(*bin);
  return map_[size_class].block;
}

void BlockPages::Totals::add(const Totals& others) {
  blocks += others.blocks;
  bytes_blocks += others.bytes_blocks;
  bytes_free += others.bytes_free;
  bytes_tails += others.bytes_tails;
  bytes_large += others.bytes_large;
  bytes_records += others.bytes_records;
  bytes_spare += others.bytes_spare;
  pages += others.pages;
  rows_open += others.rows_open;
  rows_held += others.rows_held;
  if (add_overflows(bytes_bound, others.bytes_bound, &bytes_bound)) bytes_bound = SIZE_MAX;
  pins += others.pins;
  moves_under_way += others.moves_under_way;
  moves.finished += others.moves.finished;
  moves.bytes += others.moves.bytes;
  moves.aborted += others.moves.aborted;
  waits_classes += others.waits_classes;
}

}  // namespace snug
