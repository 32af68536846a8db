#include "thread/array_store.h"

#include "base/bits.h"

namespace snug {
namespace {
// True if the numbers of the places cannot be compared by their signed lower halves.
bool lies_across(void* const* first, void* const* last) {
  const auto half = [](void* const* place) { return address_of(place) / sizeof(void*) >> 31; };
  return half(first) != half(last);
}
size_t size_index(size_t places) { return log2_floor(places) - log2_floor(ArrayStore::kLeastPlaces); }
}  // namespace

void** ArrayStore::take(size_t places) {
  {
    LockGuard guard(lock_);
    void**& first = free_[size_index(places)];
    if (first != nullptr) {
      void** array = first;
      first = static_cast<void**>(array[0]);
      return array;
    }
  }
  for (;;) {
    auto* null = static_cast<void**>(arena_.allocate((1 + places) * sizeof(void*)));
    if (null == nullptr) return nullptr;
    if (!lies_across(null, null + 1 + places)) return null + 1;
  }
}

void ArrayStore::give(void** array, size_t places) {
  LockGuard guard(lock_);
  void**& first = free_[size_index(places)];
  array[0] = first;
  first = array;
}

}  // namespace snug
