// allocator_on.h: standard containers and std::pmr on one heap of yours: a Pool, a CellHeap or a LockedCellHeap, or a
// DirectCompactHeap.
//
//   snug::Pool<> nodes{40};
//   std::list<long, snug::AllocatorOn<long, snug::Pool<>>> list(nodes);
//
//   snug::CellHeap<> heap;
//   snug::ResourceOn<snug::CellHeap<>> resource(heap);
//   std::pmr::vector<int> numbers(&resource);
//
// The heap must live longer, must not move meanwhile, and may be used by as many threads as its type says. Two
// allocators are equal if they are on one heap. Out of memory: std::bad_alloc.
//
// A pool has room for objects of its size (Pool::fits()). Longer or more strictly aligned memory, arrays and a hash
// map's table, comes from snug's heap, in a ResourceOn from its upstream. So make the pool for the container's nodes:
// in GCC's library two pointers and a T for a list of T, four pointers and its pair for a map.
//
// A CompactHeap has no allocator: containers keep addresses, and its blocks move. It has containers of its own; a
// DirectCompactHeap (snug/compact/direct_compact_heap.h) has its pages, and moves nothing.
#pragma once

#include "snug/base/cpp20.h"

#include <concepts>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <type_traits>

#include "snug/base/out_of_memory.h"
#include "snug/pool/source.h"

namespace snug {

// A heap that has elements of one size.
template <class Heap>
concept HeapOfElements = requires(Heap& heap, void* element, std::size_t bytes) {
  { heap.fits(bytes, bytes) } -> std::same_as<bool>;
  heap.deallocate(element);
  { heap.try_allocate() } -> std::same_as<void*>;
};
// A heap that has blocks of any size.
template <class Heap>
concept HeapOfBlocks = requires(Heap& heap, void* block, std::size_t bytes) {
  { heap.allocate_aligned(bytes, bytes) } -> std::same_as<void*>;
  heap.deallocate(block);
};
template <class Heap>
concept AllocatableHeap = HeapOfElements<Heap> || HeapOfBlocks<Heap>;

// True if the heap itself serves the request.
template <AllocatableHeap Heap>
bool heap_serves(const Heap& heap, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (HeapOfElements<Heap>)
    return heap.fits(bytes, alignment);
  else
    return true;
}
// Null if there is no memory.
template <AllocatableHeap Heap>
void* allocate_on(Heap& heap, std::size_t bytes, std::size_t alignment) {
  if constexpr (HeapOfElements<Heap>)
    return heap.try_allocate();
  else
    return heap.allocate_aligned(alignment, bytes);
}

template <class T, AllocatableHeap Heap>
class AllocatorOn {
 public:
  using value_type = T;
  using is_always_equal = std::false_type;
  // A container's memory stays with its heap: move assignment and swap pass the allocator along with the memory.
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  template <class U>
  struct rebind {
    using other = AllocatorOn<U, Heap>;
  };

  constexpr AllocatorOn(Heap& heap) noexcept : heap_(&heap) {}  // NOLINT(google-explicit-constructor): as pmr's
  template <class U>
  constexpr AllocatorOn(const AllocatorOn<U, Heap>& other) noexcept  // NOLINT(google-explicit-constructor)
      : heap_(&other.heap()) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw_out_of_memory();
    const std::size_t bytes = count * sizeof(T);
    void* const memory = heap_serves(*heap_, bytes, alignof(T)) ? allocate_on(*heap_, bytes, alignof(T))
                                                                : HeapMemory::allocate(bytes, alignof(T));
    if (memory == nullptr) throw_out_of_memory();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    if (heap_serves(*heap_, bytes, alignof(T)))
      heap_->deallocate(memory);
    else
      HeapMemory::deallocate(memory, bytes, alignof(T));
  }

  Heap& heap() const noexcept { return *heap_; }

 private:
  Heap* heap_;
};
// Of any two types of elements, as the standard asks of allocators.
template <class T, class U, AllocatableHeap Heap>
constexpr bool operator==(const AllocatorOn<T, Heap>& a, const AllocatorOn<U, Heap>& b) noexcept {
  return &a.heap() == &b.heap();
}

// `upstream` serves requests that the kind of heap cannot serve; if the heap is full, the request throws.
template <AllocatableHeap Heap>
class ResourceOn final : public std::pmr::memory_resource {
 public:
  explicit ResourceOn(Heap& heap, std::pmr::memory_resource* upstream = std::pmr::get_default_resource()) noexcept
      : heap_(heap), upstream_(upstream) {}
  ResourceOn(const ResourceOn&) = delete;
  ResourceOn& operator=(const ResourceOn&) = delete;

  Heap& heap() const noexcept { return heap_; }
  std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (!heap_serves(heap_, bytes, alignment)) return upstream_->allocate(bytes, alignment);
    void* const memory = allocate_on(heap_, bytes, alignment);
    if (memory == nullptr) throw_out_of_memory();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    if (heap_serves(heap_, bytes, alignment))
      heap_.deallocate(memory);
    else
      upstream_->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  Heap& heap_;
  std::pmr::memory_resource* upstream_;
};

}  // namespace snug
