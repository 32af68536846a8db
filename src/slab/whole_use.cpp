#include "slab/whole_use.h"

#include <algorithm>

#include "os/memory.h"
#include "os/residency.h"

namespace snug {
namespace {

// Blocks that must be seen to be used whole.
constexpr size_t kBlocksSeen = 4;
// The part of a slab, one in so many, that may be untouched where blocks count as used whole.
constexpr size_t kPartUnused = 6;
// A look is a few system calls.
constexpr size_t kMostSlabsBetween = 7;

}  // namespace

bool WholeUse::is_proven() const { return blocks_ >= kBlocksSeen; }

bool WholeUse::count_down() {
  if (slabs_to_come_ == 0) return true;
  --slabs_to_come_;
  return false;
}

void WholeUse::look_at(const Slab& slab) {
  const size_t bytes = slab.span->pages.bytes();
  const size_t pages = bytes / os::page_size();
  const size_t unsaid = slab.block_size <= os::page_size() ? pages : 0;
  const bool whole = os::held_pages(slab.start, bytes).value_or(unsaid) >= pages - pages / kPartUnused;
  blocks_ = static_cast<uint16_t>(whole ? blocks_ + slab.capacity : 0);
  slabs_between_ = static_cast<uint8_t>(whole ? 0 : std::min(2 * slabs_between_ + size_t{1}, kMostSlabsBetween));
  slabs_to_come_ = slabs_between_;
}

}  // namespace snug
