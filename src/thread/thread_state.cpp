#include "thread/thread_state.h"

#include <string.h>

#include "base/racing_copy.h"

namespace snug {

SNUG_USED SNUG_INITIAL_EXEC constinit thread_local ThreadState thread_state{};

void CacheHead::drop_oldest(size_t count) {
  void** const first = base();
  void** const end = top() - count;
  memmove(first, first + count, static_cast<size_t>(end - first) * sizeof(void*));
  move_top(end);
}

bool CacheHead::leads_to(const void* block, size_t below, size_t places) const {
  const PlaceNumber top = load_shared(top_number);
  const uint32_t base_low = load_shared(this->base_low);
  const auto above = static_cast<int32_t>(lower_half(top) - base_low);
  if (top == 0 || above > static_cast<int32_t>(places)) return false;
  void** const base = place_at((top & ~PlaceNumber{UINT32_MAX}) | base_low);
  for (void** place = base - below; place < base + above; ++place) {
    const void* entry;
    racing_copy(&entry, place, sizeof entry);
    if (entry == block) return true;
  }
  return false;
}

}  // namespace snug
