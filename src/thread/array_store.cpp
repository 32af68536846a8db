#include "thread/array_store.h"

#include <string.h>

#include "base/bits.h"
#include "thread/thread_state.h"

namespace snug {
namespace {
// True if the numbers of the places cannot be compared by their signed lower halves.
bool lies_across(void* const* first, void* const* last) {
  const auto half = [](void* const* place) { return number_of(place) >> 31; };
  return half(first) != half(last);
}
size_t size_index(size_t places) { return log2_floor(places) - log2_floor(ArrayStore::kLeastPlaces); }
}  // namespace

// Takes a free array, or cuts a new one; null if the OS refuses memory.
void** ArrayStore::pop(size_t places) {
  void**& first = free_[size_index(places)];
  void** array = first;
  if (array == nullptr) return cut(places);
  first = static_cast<void**>(array[0]);
  return array;
}

void ArrayStore::push(void** array, size_t places) {
  void**& first = free_[size_index(places)];
  array[0] = first;
  first = array;
}

void** ArrayStore::cut(size_t places) {
  for (;;) {
    auto* null = static_cast<void**>(piece_.cut((1 + places) * sizeof(void*)));
    if (null == nullptr) return nullptr;
    if (!lies_across(null, null + 1 + places)) return null + 1;
  }
}

void** ArrayStore::take(size_t places) {
  LockGuard guard(lock_);
  return pop(places);
}

void** ArrayStore::exchange(void** array, size_t had, size_t held, size_t places) {
  LockGuard guard(lock_);
  void** const other = pop(places);
  if (other == nullptr) return nullptr;
  memcpy(other, array, held * sizeof(void*));
  push(array, had);
  return other;
}

void ArrayStore::Returns::add(void** array, size_t places) {
  const size_t size = size_index(places);
  if (last_[size] == nullptr) last_[size] = array;
  array[0] = first_[size];
  first_[size] = array;
}

ArrayStore::Returns::~Returns() {
  LockGuard guard(store_.lock_);
  for (size_t size = 0; size != kSizes; ++size) {
    if (last_[size] == nullptr) continue;
    last_[size][0] = store_.free_[size];
    store_.free_[size] = first_[size];
  }
}

}  // namespace snug
