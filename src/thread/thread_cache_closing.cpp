// ThreadCache without arrays: at the end of its thread, and while the thread's malloc takes from another heap.
#include "thread/thread_cache.h"

namespace snug {

void ThreadCache::close() {
  Operation operation(*this);
  drop_arrays();
  is_closed_ = true;
}

void ThreadCache::reopen() {
  Operation operation(*this);
  is_closed_ = false;
}

void ThreadCache::retire() {
  Operation operation(*this);
  heap_.caches().remove(this);
  drop_arrays();
}

// Sends all blocks home, and the arrays back to their store.
void ThreadCache::drop_arrays() {
  send_all_home();
  ArrayStore::Returns returns(arrays_store_);
  for (size_t c = 1; c < kMaxClasses; ++c) {
    if (arrays_[c].places == 0) continue;
    CacheHead& head = state_->heads[c];
    void** base = head.base();
    head.point_nowhere();
    returns.add(base, arrays_[c].places);
    arrays_[c] = {};
  }
  if (trays_ != nullptr) return_trays(returns);
  room_bytes_ = 0;
  extra_bytes_ = 0;
  sent_home_ = 0;
  drains_ = false;
}

}  // namespace snug
