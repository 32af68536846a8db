// sort(): an array in rising order, by a heap within the array. O(n log n) whatever the order was, no memory besides.
#pragma once

#include <stddef.h>

#include "base/algorithm.h"

namespace snug {

// Lets the element at `place` sink below those of its children that are larger.
template <class T>
constexpr void sink(T* heap, size_t count, size_t place) {
  for (size_t child; (child = 2 * place + 1) < count; place = child) {
    if (child + 1 < count && heap[child] < heap[child + 1]) ++child;
    if (!(heap[place] < heap[child])) return;
    heap[place] = exchange(heap[child], heap[place]);
  }
}

template <class T>
constexpr void sort(T* first, T* last) {
  size_t count = static_cast<size_t>(last - first);
  for (size_t place = count / 2; place != 0; --place) sink(first, count, place - 1);
  while (count > 1) {
    --count;
    *first = exchange(first[count], *first);
    sink(first, count, 0);
  }
}

}  // namespace snug
