// heap_owner.h: heaps of one's own (heap.h) in C++: an owner of one, and an allocator that puts containers on it.
//
//   snug::Heap heap;                                            // destroyed at the end of the block, blocks and all
//   void* text = heap.allocate(100);                            // throws std::bad_alloc; try_allocate() returns null
//   std::vector<int, snug::OwnHeapAllocator<int>> numbers(heap);
//
// heap_resource.h has the same for std::pmr. Sizes and alignments are in bytes. Blocks are aligned to 16 bytes or to
// the alignment asked for, a power of two. A block is freed by Heap::deallocate(), snug_free() or, where snug serves
// malloc, free(), from any thread.
//
// Threads: any thread may allocate from one Heap beside others, and use a copy of an allocator. What changes which heap
// a Heap owns (moving, swap, release, destroy, its end) is for one thread while no other uses that Heap, as
// snug_heap_destroy() demands. The heap must live longer than the containers and resources on it.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "snug/base/out_of_memory.h"
#include "snug/heap.h"
#include "snug/heap_scope.h"

namespace snug {

// A block of the heap; null, with errno ENOMEM, if there is no memory or the limit forbids it, or with errno EINVAL if
// the alignment is no power of two. O(1), but for what the OS has to give. Thread-safe.
[[nodiscard]] inline void* try_allocate_in(snug_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  constexpr std::size_t kMallocAlignment = 16;  // snug_heap_malloc() guarantees it for every size
  const bool is_plain = alignment <= kMallocAlignment && alignment != 0 && (alignment & (alignment - 1)) == 0;
  return is_plain ? snug_heap_malloc(heap, bytes) : snug_heap_aligned_alloc(heap, alignment, bytes);
}

// Owns one heap, or none: after release(), and where it was moved from. Not copied.
class Heap {
 public:
  // Makes a heap without name and limit. Throws std::bad_alloc without memory. O(1).
  Heap() : heap_(snug_heap_create(nullptr)) { throw_if_none(); }
  // Makes a heap. options.size may stay 0: the Heap fills it in. Throws std::bad_alloc without memory, and for options
  // that snug_heap_create() refuses: errno tells them apart. O(1), with a region O(MiB of it), which outlives the Heap.
  explicit Heap(const snug_heap_options& options) : heap_(created(options)) { throw_if_none(); }
  // Takes over a heap that nothing else will destroy; null for an owner of none.
  explicit Heap(snug_heap* owned) noexcept : heap_(owned) {}
  // As the constructor with options, but owns none where that throws. O(1).
  [[nodiscard]] static Heap try_create(const snug_heap_options& options) noexcept { return Heap(created(options)); }

  Heap(Heap&& other) noexcept : heap_(other.release()) {}
  // Destroys the heap that it owned, as the destructor does.
  Heap& operator=(Heap&& other) noexcept {
    Heap(std::move(other)).swap(*this);
    return *this;
  }
  // Destroys the heap and all of its blocks. One with SNUG_HEAP_MUST_BE_EMPTY and blocks in use lives on, and nothing
  // owns it then: call destroy() first, which tells. O(slabs and large blocks).
  ~Heap() { static_cast<void>(snug_heap_destroy(heap_)); }

  // Null if it owns none. The heap stays this Heap's. O(1).
  [[nodiscard]] snug_heap* get() const noexcept { return heap_; }
  explicit operator bool() const noexcept { return heap_ != nullptr; }
  // Owns none from then on: the caller destroys the heap. O(1).
  [[nodiscard]] snug_heap* release() noexcept { return std::exchange(heap_, nullptr); }
  // Destroys the heap, and owns none from then on. Returns 0; or EBUSY, and still owns it, if it has blocks in use and
  // SNUG_HEAP_MUST_BE_EMPTY. O(slabs and large blocks).
  [[nodiscard]] int destroy() noexcept {
    const int refused = snug_heap_destroy(heap_);
    if (refused == 0) heap_ = nullptr;
    return refused;
  }
  // O(1). Blocks stay where they are.
  void swap(Heap& other) noexcept { std::swap(heap_, other.heap_); }
  friend void swap(Heap& a, Heap& b) noexcept { a.swap(b); }

  // What follows needs a heap, is thread-safe, and is O(1) but for what the OS has to give, unless it says otherwise.

  // A block of the heap. Throws std::bad_alloc where try_allocate() returns null.
  [[nodiscard]] void* allocate(std::size_t bytes) { return existing(try_allocate(bytes)); }
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return existing(try_allocate(bytes, alignment));
  }
  // A block of the heap, or null with errno ENOMEM or, for an alignment that is no power of two, EINVAL.
  [[nodiscard]] void* try_allocate(std::size_t bytes) noexcept { return snug_heap_malloc(heap_, bytes); }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return try_allocate_in(heap_, bytes, alignment);
  }
  // A zeroed block for `count` elements of `bytes`, or null with errno ENOMEM. O(bytes).
  [[nodiscard]] void* try_allocate_zeroed(std::size_t count, std::size_t bytes) noexcept {
    return snug_heap_calloc(heap_, count, bytes);
  }
  // The block at its new size, in this heap, wherever it lay before; null with errno ENOMEM, and the block stays as it
  // was. As snug_heap_realloc(). O(bytes) where it has to be copied.
  [[nodiscard]] void* try_reallocate(void* block, std::size_t bytes) noexcept {
    return snug_heap_realloc(heap_, block, bytes);
  }
  // Fills the span with blocks of `bytes`; returns how many there are: fewer, with errno ENOMEM, only for want of
  // memory. O(blocks).
  [[nodiscard]] std::size_t try_allocate_batch(std::size_t bytes, std::span<void*> blocks) noexcept {
    return snug_heap_malloc_batch(heap_, bytes, blocks.data(), blocks.size());
  }
  // Frees a block of any heap, and malloc's, as snug_free(): null is ignored, errno kept. Needs no heap.
  static void deallocate(void* block) noexcept { snug_free(block); }

  // Whether the live block lies in this heap.
  [[nodiscard]] bool owns(const void* block) const noexcept { return heap_ != nullptr && snug_heap_of(block) == heap_; }
  // "" if it has none. Lives as long as the heap.
  [[nodiscard]] const char* name() const noexcept { return snug_heap_name(heap_); }
  // O(classes and caches).
  [[nodiscard]] snug_heap_stats stats() const noexcept {
    snug_heap_stats stats{};
    snug_heap_get_stats(heap_, &stats);
    return stats;
  }
  // Gives back pages without a block in use; whether there were any. O(slabs).
  bool trim() noexcept { return snug_heap_trim(heap_) != 0; }

 private:
  static snug_heap* created(snug_heap_options options) noexcept {
    if (options.size == 0) options.size = sizeof options;
    return snug_heap_create(&options);
  }
  static void* existing(void* block) {
    if (block == nullptr) throw_out_of_memory();
    return block;
  }
  void throw_if_none() const {
    if (heap_ == nullptr) throw_out_of_memory();
  }

  snug_heap* heap_;
};

inline HeapScope::HeapScope(const Heap& heap) noexcept : HeapScope(heap.get()) {}

// An allocator on one heap, for any standard container. It does not own the heap. Two are equal if they are on one
// heap.
template <class T>
class OwnHeapAllocator {
 public:
  using value_type = T;
  using is_always_equal = std::false_type;
  // A container's memory goes along when its contents are moved or swapped, and so does the heap that it lies in:
  // neither copies an element. What is assigned a copy stays on its own heap: a tenant's container that is given what
  // another tenant's holds takes memory of its own, and is not left with blocks of a heap that may end before it. For
  // the same reason a copy that is constructed is on the heap of what it copies: name another heap's allocator to have
  // it there.
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using propagate_on_container_copy_assignment = std::false_type;

  // `heap` is not null.
  constexpr OwnHeapAllocator(snug_heap* heap) noexcept : heap_(heap) {}  // NOLINT(google-explicit-constructor)
  OwnHeapAllocator(const Heap& heap) noexcept : heap_(heap.get()) {}     // NOLINT(google-explicit-constructor)
  OwnHeapAllocator(const Heap&&) = delete;                               // it would end before the allocator
  template <class U>
  constexpr OwnHeapAllocator(const OwnHeapAllocator<U>& other) noexcept  // NOLINT(google-explicit-constructor)
      : heap_(other.heap()) {}

  // Room for `count` elements. Throws std::bad_alloc if there is no memory, the heap's limit forbids it, or no number
  // tells their bytes. O(1), but for what the OS has to give. Thread-safe.
  [[nodiscard]] T* allocate(std::size_t count) {
    void* const memory = count <= std::numeric_limits<std::size_t>::max() / sizeof(T)
                             ? try_allocate_in(heap_, count * sizeof(T), alignof(T))
                             : nullptr;
    if (memory == nullptr) throw_out_of_memory();
    return static_cast<T*>(memory);
  }
  // O(1). Thread-safe.
  void deallocate(T* memory, std::size_t) noexcept { snug_free(memory); }

  [[nodiscard]] constexpr snug_heap* heap() const noexcept { return heap_; }

 private:
  snug_heap* heap_;
};
// Of any two types of elements, as the standard asks of allocators.
template <class T, class U>
constexpr bool operator==(const OwnHeapAllocator<T>& a, const OwnHeapAllocator<U>& b) noexcept {
  return a.heap() == b.heap();
}

}  // namespace snug
