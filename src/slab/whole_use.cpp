#include "slab/whole_use.h"

#include "os/memory.h"
#include "os/residency.h"

namespace snug {

void WholeUse::look_at(const Slab& slab) {
  const size_t bytes = slab.span->pages.bytes();
  const size_t pages = bytes / os::page_size();
  const size_t unsaid = slab.block_size <= os::page_size() ? pages : 0;
  proof_.note(os::held_pages(slab.start, bytes).value_or(unsaid), pages, slab.capacity);
}

}  // namespace snug
