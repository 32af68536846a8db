#include "os/residency.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/errno_keeper.h"
#include "os/memory.h"
#include "os/process.h"

namespace snug::os {

size_t resident_pages(void* start, size_t bytes) {
  if (is_filtered()) return 0;
  ErrnoKeeper keeper;
  constexpr size_t kPagesAtOnce = 256;
  unsigned char states[kPagesAtOnce];
  size_t resident = 0;
  for (size_t done = 0; done < bytes; done += kPagesAtOnce * page_size()) {
    const size_t part = std::min(bytes - done, kPagesAtOnce * page_size());
    if (::mincore(static_cast<char*>(start) + done, part, states) != 0) return 0;
    for (size_t page = 0; page < part / page_size(); ++page) resident += states[page] & 1;
  }
  return resident;
}

}  // namespace snug::os
