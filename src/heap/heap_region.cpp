#include "heap/heap_region.h"

#include "base/algorithm.h"
#include "base/bits.h"

namespace snug {

char* HeapRegion::take(size_t pages, size_t alignment) {
  lowest_ = map_->first_free(lowest_, end_);
  for (size_t at_page = lowest_;;) {
    at_page = round_up(at_page, alignment);
    if (at_page >= end_ || pages > end_ - at_page) return nullptr;
    const size_t taken = map_->first_taken(at_page, at_page + pages);
    if (taken == at_page + pages) {
      map_->set_taken(at_page, pages, true);
      return at<char>(at_page << kPageShift);
    }
    at_page = map_->first_free(taken, end_);
  }
}

void HeapRegion::give(const void* start, size_t pages) {
  const size_t page = RegionMap::page_of(start);
  map_->set_taken(page, pages, false);
  lowest_ = min(lowest_, page);
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

}  // namespace snug
