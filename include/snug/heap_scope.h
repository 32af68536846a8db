// HeapScope: the calling thread's malloc takes from one heap for a while.
#pragma once

#include "snug/base/cpp20.h"

#include "snug/heap.h"

namespace snug {

class Heap;

// From its construction to its end the calling thread's malloc takes from the heap (snug_heap_enter): scopes nest, and
// a scope ends in the thread in which it began. `snug_heap*` may be null, for malloc's own heap: so is taken what may
// outlive the heap of a scope.
class HeapScope {
 public:
  explicit HeapScope(snug_heap* heap) noexcept : before_(snug_heap_enter(heap)) {}
  explicit HeapScope(const Heap& heap) noexcept;  // in snug/heap_owner.h
  explicit HeapScope(const Heap&&) = delete;      // it would end before the scope
  HeapScope(const HeapScope&) = delete;
  HeapScope& operator=(const HeapScope&) = delete;
  ~HeapScope() { snug_heap_leave(before_); }

 private:
  snug_heap* before_;
};

}  // namespace snug
