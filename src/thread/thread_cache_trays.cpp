// Trays of a thread: how they are filled out of its arrays, and emptied (thread/trays.h).
#include <string.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/in_place.h"
#include "os/clock.h"
#include "thread/head_table.h"
#include "thread/thread_cache.h"

namespace snug {
namespace {

// Takes the newest `count` blocks of an array that seems to hold as many, as a malloc takes one (thread/array_ends.h);
// null if another thread has just shut this one off from them.
void** take_row(CacheHead& head, size_t count) {
  void** const row = head.top() - count;
  head.move_top(row);
  compiler_fence(kSeqCst);
  const auto below = static_cast<int32_t>(load_shared(head.base_low) - CacheHead::lower_half(number_of(row)));
  if (below <= 0) return row;
  head.move_top(row + count);
  return nullptr;
}

}  // namespace

Trays* ThreadCache::trays() {
  if (trays_ != nullptr) [[likely]]
    return trays_;
  void** const place = arrays_store_.take(Trays::kMost);
  if (place == nullptr) return nullptr;
  trays_ = ::new (InPlace{static_cast<void*>(place)}) Trays{};
  trays_->random = os::nanoseconds() * 0x9e3779b97f4a7c15 ^ address_of(this);
  return trays_;
}

size_t ThreadCache::load_tray(size_t size_class, size_t most) {
  const size_t tray = tray_of(registry_.table(), size_class);
  const size_t want = min(most, Trays::room(sizes(size_class).block_size));
  if (tray == 0 || want == 0) return 0;
  CacheHead& head = state_->heads[tray];
  SNUG_ASSERT(head.held() == 0, "what is left in a tray would be lost, or sent home after it was handed out");
  if (head.top_number == 0) {
    void** const array = arrays_store_.take(Trays::kMost);
    if (array == nullptr) return 0;
    // In a hold of the heap's lock, or a fork might find a head that is half changed.
    Operation operation(*this);
    head.point_at(array, 0, 0);
  }
  void** const base = head.base();
  const size_t held = count(size_class);
  size_t loaded = 0;
  if (held >= want - want / 4) {
    loaded = min(want, held);
    void** const row = take_row(state_->heads[size_class], loaded);
    if (row == nullptr) loaded = 0;
    // By libc's function: the compiler knows a bound, and would copy word by word.
    if (row != nullptr) memcpy(base, row, opaque(loaded * sizeof(void*)));
  } else {
    loaded = stock_tray(size_class, base, want);
  }
  head.point_at(base, loaded, loaded);
  return loaded;
}

// The same where the array has less than is wanted: a loop that allocates and frees one block would come here each
// time. So the slabs give some more, in batches that double; they are in use by turns from then on.
size_t ThreadCache::stock_tray(size_t size_class, void** base, size_t want) {
  Operation operation(*this);
  CacheHead& head = state_->heads[size_class];
  const size_t held = min(want, count(size_class));
  head.move_top(head.top() - held);
  if (held != 0) memcpy(base, head.top(), held * sizeof(void*));
  const size_t more = min(want - held, prepare_batch(size_class));
  // Slabs give their blocks downwards from an end.
  void** const end = base + held + more;
  const size_t got = more != 0 ? heap_.refill(size_class, end, more) : 0;
  if (got != more) memmove(base + held, end - got, got * sizeof(void*));
  if (got == 0) return held;
  has_refilled(size_class, got);
  scavenge_as_due();
  return held + got;
}

// These blocks were counted as handed out, and no malloc has taken them: they are left until the sample again. No block
// of a tray is a sample, so that samples would come too often without that.
void ThreadCache::flush_trays() {
  const ClassTable& table = registry_.table();
  for (size_t c = 1; c < table.count && tray_of(table, c) != 0; ++c) {
    CacheHead& tray = state_->heads[tray_of(table, c)];
    const size_t held = tray.held();
    if (held == 0) continue;
    void** const base = tray.base();
    heap_.flush(c, base, held);
    tray.point_at(base, 0, 0);
    trays_->left[c] += static_cast<uint32_t>(held);
  }
}

void ThreadCache::return_trays(ArrayStore::Returns& returns) {
  const ClassTable& table = registry_.table();
  for (size_t c = 1; c < table.count && tray_of(table, c) != 0; ++c) {
    CacheHead& tray = state_->heads[tray_of(table, c)];
    if (tray.top_number == 0) continue;
    returns.add(tray.base(), Trays::kMost);
    tray.point_nowhere();
  }
  returns.add(reinterpret_cast<void**>(trays_), Trays::kMost);
  trays_ = nullptr;
}

}  // namespace snug
