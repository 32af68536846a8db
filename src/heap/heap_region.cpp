#include "heap/heap_region.h"

#include "base/algorithm.h"
#include "base/bits.h"

namespace snug {

char* HeapRegion::take(size_t pages, size_t alignment) {
  if (pages > end_ - first_) return nullptr;
  const unsigned power = min(bit_width(pages) - 1, kPowers - 1);
  size_t lowest = end_;
  char* found = nullptr;
  for (size_t row = map_->first_free(lowest_[power], end_); row != end_;) {
    const size_t start = round_up(row, alignment);
    const size_t row_end = map_->first_taken(row, min(end_, start + pages));
    if ((row_end - row) >> power != 0) lowest = min(lowest, row);
    if (start + pages <= row_end) {
      found = at<char>(start << kPageShift);
      break;
    }
    row = map_->first_free(row_end, end_);
  }
  lowest_[power] = lowest;
  if (found != nullptr) map_->set_taken(RegionMap::page_of(found), pages, true);
  return found;
}

void HeapRegion::give(const void* start, size_t pages) {
  const size_t page = RegionMap::page_of(start);
  map_->set_taken(page, pages, false);
  // The row in which they lie now, as far as it matters.
  const size_t row = map_->free_before(page, max(first_, page - min<size_t>(page, kPagesPerChunk - 1)));
  const size_t row_end = map_->first_taken(page + pages, max(page + pages, min(end_, row + kPagesPerChunk)));
  for (unsigned power = 0; power != kPowers && (row_end - row) >> power != 0; ++power)
    lowest_[power] = min(lowest_[power], row);
}

bool HeapRegion::resize(const void* start, size_t pages, size_t new_pages) {
  const size_t page = RegionMap::page_of(start);
  if (new_pages <= pages) {
    if (new_pages != pages) give(at<char>((page + new_pages) << kPageShift), pages - new_pages);
    return true;
  }
  if (new_pages > end_ - page) return false;
  if (map_->first_taken(page + pages, page + new_pages) != page + new_pages) return false;
  map_->set_taken(page + pages, new_pages - pages, true);
  return true;
}

size_t HeapRegion::bytes_taken() const {
  size_t pages = 0;
  for (size_t page = map_->first_taken(first_, end_); page != end_;) {
    const size_t after = map_->first_free(page, end_);
    pages += after - page;
    page = map_->first_taken(after, end_);
  }
  return pages << kPageShift;
}

const char* HeapRegion::check() const {
  for (size_t row = map_->first_free(first_, end_); row != end_;) {
    const size_t row_end = map_->first_taken(row, end_);
    for (unsigned power = 0; power != kPowers && (row_end - row) >> power != 0; ++power)
      if (row < lowest_[power]) return "user heap: free pages of its region are passed by";
    row = map_->first_free(row_end, end_);
  }
  return nullptr;
}

}  // namespace snug
