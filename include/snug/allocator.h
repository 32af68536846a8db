// allocator.h: allocators for the standard containers. Both are stateless: all of one kind are equal, containers may be
// moved and swapped freely, and any of them may deallocate the memory of any other in any thread.
//
//   std::vector<int, snug::Allocator<int>>        on snug's heap: for any container
//   std::list<Node, snug::PoolAllocator<Node>>    single elements from a pool, for containers of nodes: list, map, set
//                                                 and the unordered ones. All types of one size and alignment share it
//
// PoolAllocator's pools are ThreadCached by default, because a container's declaration does not show which threads use
// other containers of its kind. These pools live until the process ends; SharedPools (shared_pools.h) reports what they
// have, and gives free blocks back.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>

#include "snug/pool.h"
#include "snug/pool_thread_cache.h"
#include "snug/pooled.h"
#include "snug/shared_pools.h"

namespace snug {

// Throws std::bad_alloc if there is no memory for `count` elements of T, or no number for their bytes.
template <class T>
[[nodiscard]] T* allocate_on_heap(std::size_t count) {
  void* const memory = count <= std::numeric_limits<std::size_t>::max() / sizeof(T)
                           ? HeapMemory::allocate(count * sizeof(T), alignof(T))
                           : nullptr;
  if (memory == nullptr) throw_out_of_memory();
  return static_cast<T*>(memory);
}

// What allocate_at_least() returns: the standard's type where there is one (C++23).
#if defined(__cpp_lib_allocate_at_least)
template <class T>
using AllocatedArray = std::allocation_result<T*>;
#else
template <class T>
struct AllocatedArray {
  T* ptr;
  std::size_t count;
};
#endif

// Room for `count` elements at least: the block's own length decides how many fit.
template <class T>
[[nodiscard]] AllocatedArray<T> allocate_at_least_on_heap(std::size_t count) {
  T* const memory = allocate_on_heap<T>(count);
  return {memory, snug_malloc_usable_size(memory) / sizeof(T)};
}

template <class T>
class Allocator {
 public:
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;

  constexpr Allocator() noexcept = default;
  template <class U>
  constexpr Allocator(const Allocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): containers convert

  [[nodiscard]] T* allocate(std::size_t count) { return allocate_on_heap<T>(count); }
  // deallocate() takes any count from the requested to the returned one.
  [[nodiscard]] AllocatedArray<T> allocate_at_least(std::size_t count) { return allocate_at_least_on_heap<T>(count); }
  void deallocate(T* memory, std::size_t count) noexcept {
    HeapMemory::deallocate(memory, count * sizeof(T), alignof(T));
  }
};
// Of any two types of elements, as the standard asks of allocators.
template <class T, class U>
constexpr bool operator==(const Allocator<T>&, const Allocator<U>&) noexcept {
  return true;
}

// The pool of all elements of one size and alignment. The pool's type is part of its name, so that files with different
// checks do not use each other's pool.
template <class PoolType, std::size_t Size, std::size_t Alignment>
inline constinit EverlastingPool<PoolType> shared_pool{Size, Alignment};
// Registers the pool when the program starts; the pool itself may be used before that.
template <class PoolType, std::size_t Size, std::size_t Alignment>
inline SharedPools::Entry shared_pool_entry{[] { return shared_pool<PoolType, Size, Alignment>.pool.release_unused(); },
                                            [] { return shared_pool<PoolType, Size, Alignment>.pool.running_stats(); }};

template <class T, PoolThreads Threads = ThreadCached, PoolChecks Checks = Unchecked>
class PoolAllocator {
 public:
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  template <class U>
  struct rebind {
    using other = PoolAllocator<U, Threads, Checks>;
  };

  constexpr PoolAllocator() noexcept = default;
  template <class U>
  constexpr PoolAllocator(const PoolAllocator<U, Threads, Checks>&) noexcept {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] T* allocate(std::size_t count) {
    return count == 1 ? static_cast<T*>(pool().allocate()) : allocate_on_heap<T>(count);
  }
  // Returns more than requested only on the heap: deallocate() knows by the count whether the memory is the pool's. It
  // takes any count from the requested to the returned one.
  [[nodiscard]] AllocatedArray<T> allocate_at_least(std::size_t count) {
    if (count <= 1) return {allocate(count), count};
    return allocate_at_least_on_heap<T>(count);
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    if (memory == nullptr) __builtin_unreachable();  // as the standard has it: deallocate() need not look
    if (count == 1)
      pool().deallocate(memory);
    else
      HeapMemory::deallocate(memory, count * sizeof(T), alignof(T));
  }

  // The pool of all single elements of this size and alignment. A container's nodes are of another type.
  using SharedPool = Pool<void, Threads, Checks>;
  static SharedPool& pool() noexcept {
    if constexpr (!std::is_same_v<Threads, SingleThread>)
      static_cast<void>(&shared_pool_entry<SharedPool, sizeof(T), alignof(T)>);
    return shared_pool<SharedPool, sizeof(T), alignof(T)>.pool;
  }
};
template <class T, class U, PoolThreads Threads, PoolChecks Checks>
constexpr bool operator==(const PoolAllocator<T, Threads, Checks>&, const PoolAllocator<U, Threads, Checks>&) noexcept {
  return true;
}

}  // namespace snug
