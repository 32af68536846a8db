// heap_resource.h: a std::pmr::memory_resource on one heap of one's own (heap.h).
//
//   snug::Heap heap;
//   snug::OwnHeapResource memory(heap);
//   std::pmr::vector<int> numbers(&memory);
//
// (resource.h has heap_resource(), the heap that malloc uses.)
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <memory_resource>

#include "snug/base/out_of_memory.h"
#include "snug/heap_owner.h"

namespace snug {

// Does not own the heap, which must live longer than the resource and what was allocated by it. Thread-safe. allocate()
// throws std::bad_alloc without memory or beyond the heap's limit; both are O(1), but for what the OS has to give.
class OwnHeapResource final : public std::pmr::memory_resource {
 public:
  // `heap` is not null.
  explicit OwnHeapResource(snug_heap* heap) noexcept : heap_(heap) {}
  explicit OwnHeapResource(const Heap& heap) noexcept : heap_(heap.get()) {}
  explicit OwnHeapResource(const Heap&&) = delete;  // it would end before the resource
  OwnHeapResource(const OwnHeapResource&) = delete;
  OwnHeapResource& operator=(const OwnHeapResource&) = delete;

  [[nodiscard]] snug_heap* heap() const noexcept { return heap_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const memory = try_allocate_in(heap_, bytes, alignment);
    if (memory == nullptr) throw_out_of_memory();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { snug_free(memory); }
  // Any other resource on the heap could free the memory, but without RTTI this cannot tell that `other` is one.
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  snug_heap* heap_;
};

}  // namespace snug
