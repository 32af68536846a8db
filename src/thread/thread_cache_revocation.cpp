// What another thread takes out of the cache of a sleeping thread, and how the owner restores its arrays afterwards.
#include <string.h>

#include "base/algorithm.h"
#include "thread/array_ends.h"
#include "thread/head_table.h"
#include "thread/thread_cache.h"

namespace snug {
bool ThreadCache::raise_bases() {
  heap_.lock().assume_held();
  steps_raised_ = steps();
  for (size_t c = 1; c < kMaxClasses; ++c) {
    Array& array = arrays_[c];
    if (array.places == 0 || array.pending != 0) continue;
    store_shared(array.pending, static_cast<uint16_t>(raise_base(OthersHead(state_->heads[c]))));
    if (array.pending == 0) continue;
    array.raised = static_cast<uint16_t>(array.raised + array.pending);
    is_raised_ = is_pending_ = true;
  }
  return is_pending_;
}

void ThreadCache::take_raised() {
  heap_.lock().assume_held();
  if (!is_pending_) return;
  is_pending_ = false;
  for (size_t c = 1; c < kMaxClasses; ++c) {
    Array& array = arrays_[c];
    if (array.pending == 0) continue;
    CacheHead& head = state_->heads[c];
    const uint32_t taken = settle_base(OthersHead(head), array.pending);
    array.raised = static_cast<uint16_t>(array.raised - (array.pending - taken));
    store_shared(array.pending, uint16_t{0});
    if (taken == 0) continue;
    // Below each base there must be a null, equal to no block, before another thread may get the last block.
    void** const base = head.base();
    void* const last = base[-1];
    store_shared(base[-1], static_cast<void*>(nullptr));
    heap_.flush(c, base - taken, taken - 1);
    heap_.flush(c, &last, 1);
    flushes_.add(1);
  }
  heap_.release_empty(0);  // as the owner sleeps and will not free them
}

bool ThreadCache::holds(size_t size_class, const void* block) const {
  heap_.lock().assume_held();
  const Array& array = arrays_[size_class];
  if (array.places != 0 && state_->heads[size_class].leads_to(block, array.pending, array.places)) return true;
  const size_t tray = tray_of(registry_.table(), size_class);
  return tray != 0 && state_->heads[tray].leads_to(block, 0, Trays::kMost);
}

void ThreadCache::lower_bases() {
  for (size_t c = 1; c < kMaxClasses; ++c) {
    Array& array = arrays_[c];
    if (array.raised == 0) continue;
    CacheHead& head = state_->heads[c];
    void** const begin = head.base() - array.raised;
    if (const size_t gone = array.raised - size_t{array.pending}; gone != 0) {
      // The owner may have taken blocks that were still there when another thread raised the base.
      const auto left = static_cast<size_t>(max<ptrdiff_t>(0, head.top() - (begin + gone)));
      memmove(begin, begin + gone, left * sizeof(void*));
      head.move_top(begin + left);
      array.batch = 1;
    }
    store_shared(head.base_low, CacheHead::lower_half(number_of(begin)));
    array.raised = 0;
    store_shared(array.pending, uint16_t{0});
  }
  is_raised_ = is_pending_ = false;
}

bool ThreadCache::has_been_still() {
  heap_.lock().assume_held();
  const uint64_t now = steps();
  const bool still = now == steps_seen_;
  steps_seen_ = now;
  return still;
}

}  // namespace snug
