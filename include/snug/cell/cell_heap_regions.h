// The slow half of BasicCellHeap (the class is in snug/cell/cell_heap_cells.h): operations on whole regions.
#pragma once

#include "snug/cell/cell_heap_cells.h"

namespace snug {

template <CellHeapPolicy Policy>
const char* BasicCellHeap<Policy>::add_region(void* start, size_t bytes) {
  if (start == nullptr) return "the region is null";
  if (bytes < kSmallestRegion) return "the region is too small for a cell";
  if (bytes > Index::kLargestCell) return "the region is longer than the longest cell";
  if (Layout::address_of(start) + bytes < bytes) return "the region runs past the last address";
  [[maybe_unused]] const Pause pause;
  prove("CellHeap::add_region", start);
  if (regions_.overlaps(start, bytes)) return "the region overlaps one that the heap has";
  if (Regions::meets(start, bytes, this, sizeof *this)) return "the region overlaps the heap's own record";
  Cell* const cell = add_cells(start, bytes, 0);
  index_.insert(cell, Layout::size_of(cell));
  return nullptr;
}

template <CellHeapPolicy Policy>
const char* BasicCellHeap<Policy>::remove_region(void* start) {
  [[maybe_unused]] const Pause pause;
  prove("CellHeap::remove_region", start);
  CellRegion* found = nullptr;
  regions_.for_each([&](CellRegion* region) {
    if (region->start == start && region->page_bytes == 0) found = region;
  });
  if (found == nullptr) return "no region begins there";
  // Without trailers free cells may be neighbours.
  Cell* const end = reinterpret_cast<Cell*>(found);
  for (Cell* cell = Regions::first_of(found); cell != end; cell = Layout::next_of(cell)) {
    if (Layout::is_used(cell)) return "a block lives in the region";
  }
  for (Cell* cell = Regions::first_of(found); cell != end; cell = Layout::next_of(cell))
    index_.remove(cell, Layout::size_of(cell));
  const size_t length = Regions::length_of(found);
  free_.count_out(length);
  bytes_total_ -= length;
  const size_t bytes = found->bytes;
  regions_.unlink(found);
  regions_.narrow();
  Tools::permit(start, bytes);
  return nullptr;
}

template <CellHeapPolicy Policy>
size_t BasicCellHeap<Policy>::release_unused() {
  [[maybe_unused]] const Pause pause;
  prove("CellHeap::release_unused", this);
  size_t released = 0;
  if constexpr (Retention::kWatches) retention_.forget();
  regions_.for_each([&](CellRegion* region) {
    if (region->page_bytes == 0 || !Regions::is_empty(region)) return;
    const size_t length = Regions::length_of(region);
    index_.remove(Regions::first_of(region), length);
    free_.count_out(length);
    released += region->page_bytes;
    give_page(region);
  });
  return released;
}

template <CellHeapPolicy Policy>
template <class Visit>
void BasicCellHeap<Policy>::walk(Visit visit) const {
  [[maybe_unused]] const Pause pause;
  prove("CellHeap::walk", this);
  regions_.for_each([&](const CellRegion* region) {
    for (const Cell* cell = Regions::first_of(region); cell != reinterpret_cast<const Cell*>(region);
         cell = Layout::next_of(cell))
      visit(CellView{Layout::block_of(cell), Layout::size_of(cell),
                     Layout::is_used(cell) ? CellUse::kUsed : CellUse::kFree});
  });
}

template <CellHeapPolicy Policy>
CellStatistics BasicCellHeap<Policy>::statistics() const {
  [[maybe_unused]] const Pause pause;
  prove("CellHeap::statistics", this);
  CellStatistics now;
  now.bytes_free = free_.now();
  now.bytes_least_free = free_.least();
  now.bytes_total = bytes_total_;
  if (const size_t largest = index_.surely_taken(); largest != 0)
    now.bytes_largest = largest - kCellOverhead < kLargestRequest ? largest - kCellOverhead : kLargestRequest;
  regions_.for_each([&](const CellRegion* region) {
    ++now.regions;
    now.bytes_pages += region->page_bytes;
  });
  walk([&](const CellView& cell) { now.count(cell, kCellOverhead); });
  return now;
}

template <CellHeapPolicy Policy>
void BasicCellHeap<Policy>::let_go_of_regions() {
  [[maybe_unused]] const Pause pause;
  if constexpr (kGrows) {
    prove("CellHeap::~CellHeap", this);
    regions_.for_each([this](CellRegion* region) {
      if (region->page_bytes != 0) give_page(region);
    });
  }
  // For the memory checkers only. The caller may have reused the memory of its regions already.
  for (const CellRegion* region = regions_.newest();
       region != nullptr && !has_poison(region, sizeof *region) && region->is_sealed(); region = region->next)
    Tools::permit(region->start, region->bytes);
}

template <CellHeapPolicy Policy>
void BasicCellHeap<Policy>::give_page(CellRegion* region) {
  void* const start = region->start;
  const size_t bytes = region->page_bytes;
  bytes_total_ -= Regions::length_of(region);
  regions_.unlink(region);
  Tools::permit(start, bytes);
  trace_.page_given(start, bytes);
  pages_.give(start, bytes);
}

}  // namespace snug
