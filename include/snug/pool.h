// pool.h: elements of one size, handed out and taken back in a few instructions.
//
//   snug::Pool pool{48};          // untyped: size in bytes; Pool{48, 64} has an alignment, too
//   void* p = pool.allocate();
//   pool.deallocate(p);
//
//   snug::Pool<Node> nodes;       // typed
//   Node* n = nodes.construct(1, 2);
//   nodes.destroy(n);
//   auto owned = nodes.make_unique(1, 2);
//
// An element costs its size, rounded up to its alignment and to a pointer, and nothing beside it. Memory comes in
// blocks from the source, snug's heap by default, and stays in the pool until release_unused(), drop_all_and_release()
// or the pool's end. Every pool is usable from static initialisers of any file (declare it constinit to have that
// proved).
//
// Template parameters:
//   T         type of the elements; void: untyped
//   Threads   SingleThread (default), Locked, ThreadCached (include pool_thread_cache.h)
//   Checks    Unchecked (default), Checked (pool/checks.h)
//   Source    where blocks come from (pool/source.h)
//
// Out of memory: allocate and construct throw std::bad_alloc, the functions with try_ return null. An address that is
// freed must be a live element of the same pool, or null, which is ignored: only a checked pool verifies that.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "snug/pool/blocks.h"
#include "snug/pool/checks.h"
#include "snug/pool/element_owner.h"
#include "snug/pool/element_span.h"
#include "snug/pool/policies.h"
#include "snug/pool/source.h"
#include "snug/pool/threads.h"

namespace snug {

template <class T = void, PoolThreads Threads = SingleThread, PoolChecks Checks = Unchecked,
          PoolSource Source = HeapSource>
class Pool;

// What typed and untyped pools share. "Alone" in a comment: with ThreadCached, no other thread may use the pool
// meanwhile. A pool is not copied; one for a single thread can be moved, with its elements, which stay where they are:
// while none of them has an owner (make_unique) or an allocator (allocator_on.h), which know the pool's address.
template <class Threads, class Checks, class Source>
class BasicPool {
 public:
  BasicPool(const BasicPool&) = delete;
  BasicPool& operator=(const BasicPool&) = delete;
  // The other pool is as if it had just been made. Live elements of a pool that is assigned to are lost without their
  // destructors, as at its end.
  BasicPool(BasicPool&&) noexcept
    requires Threads::kMoves
  = default;
  BasicPool& operator=(BasicPool&&) noexcept
    requires Threads::kMoves
  = default;

  // The bare memory of one element; of a Pool<T>, raw storage for one T.
  [[nodiscard]] void* allocate() { return front_.allocate(); }
  [[nodiscard]] void* try_allocate() noexcept { return front_.try_allocate(); }
  // Null is ignored: two instructions, unless the compiler knows that it is not null. A checked store tests for null
  // itself, and only if it does not know the address.
  void deallocate(void* element) noexcept {
    if (Checks::kWatches || element != nullptr) front_.deallocate(element);
  }

  // Fills `out` from its front with the memory of elements; returns how many: all, unless there is no memory.
  // O(elements).
  [[nodiscard]] std::size_t allocate_batch(ElementSpan<void*> out) {
    return front_.allocate_batch(out.data(), out.size());
  }
  // Frees the addresses in `elements`, as deallocate() would. O(elements).
  void deallocate_batch(ElementSpan<void* const> elements) noexcept {
    front_.deallocate_batch(elements.data(), elements.size());
  }

  // Makes sure that `count` more elements can be had without asking the source. False if there is no memory.
  bool reserve(std::size_t count) {
    return front_.together([count](auto& store) { return store.reserve(count); });
  }

  // Gives blocks without live elements back to the source; returns how many bytes. Elements cached by other threads
  // count as live. O(free log free + blocks log blocks).
  std::size_t release_unused() noexcept {
    return front_.together([](auto& store) { return store.release_unused(); });
  }

  // The pool drops every element at once: live ones without their destructors (destroy_all() runs them). The memory
  // stays in the pool. O(blocks). Alone.
  void drop_all() noexcept {
    front_.alone([](auto& store) { store.drop_all(); });
  }

  // The same, and all memory goes back to the source. O(blocks). Alone.
  void drop_all_and_release() noexcept {
    front_.alone([](auto& store) { store.drop_all_and_release(); });
  }

  // The statistics of this moment. O(blocks + free). Alone.
  PoolStats stats() noexcept {
    return front_.alone([](auto& store) { return store.stats(); });
  }

  // The same while other threads use the pool: elements in their caches count as live. O(blocks + free).
  PoolStats running_stats() noexcept {
    return front_.together([](auto& store) { return store.stats(); });
  }

  // True if an object of so many bytes, and of that alignment, has room in an element. O(1).
  constexpr bool fits(std::size_t bytes, std::size_t alignment = 1) const noexcept {
    return front_.fits(bytes, alignment);
  }

  // True if the address is that of an element, live or not. O(blocks), O(1) if checked.
  bool owns(const void* address) noexcept {
    return front_.together([address](auto& store) { return store.owns(address); });
  }

  // Null if the pool is sound, else a sentence that names the broken invariant. Returns whatever was written over the
  // pool's memory. O(blocks * free), O(slots) if checked. Alone.
  const char* check() noexcept { return front_.check(); }

 protected:
  constexpr BasicPool(std::size_t size, std::size_t alignment, PoolGrowth growth, TypeText type, Source source)
      : front_(size, alignment, growth, type, source) {}
  ~BasicPool() { front_.end(); }

  typename Threads::template Front<PoolStore<Checks, Source>> front_;
};

// The strictest alignment of a type that has this size, up to what malloc promises. 1 for 0.
constexpr std::size_t alignment_for(std::size_t size) {
  const std::size_t divisor = size & (~size + 1);
  return divisor == 0 ? 1 : divisor < alignof(std::max_align_t) ? divisor : alignof(std::max_align_t);
}

// Untyped. `size` is at least 1, `alignment` a power of two; without one elements are aligned as a type of this size
// can ask for (alignof(std::max_align_t) at most), so that 4 bytes take 8, and 24 take 24.
template <PoolThreads Threads, PoolChecks Checks, PoolSource Source>
class Pool<void, Threads, Checks, Source> : public BasicPool<Threads, Checks, Source> {
 public:
  constexpr explicit Pool(std::size_t size) : Pool(size, alignment_for(size)) {}
  constexpr explicit Pool(std::size_t size, std::size_t alignment, PoolGrowth growth = {}, Source source = {})
      : BasicPool<Threads, Checks, Source>(size, alignment, growth, {}, source) {}

  // visit(void*) for each live element, in the order of addresses. With SingleThread and ThreadCached, visit may free
  // the element that it is given; otherwise it must not use the pool. O(slots + free log free). Alone.
  template <class Visit>
  void for_each_live(Visit&& visit) {
    this->front_.alone([&visit](auto& store) { store.for_each_live(visit); });
  }
};

Pool(std::size_t) -> Pool<void>;
Pool(std::size_t, std::size_t) -> Pool<void>;
Pool(std::size_t, std::size_t, PoolGrowth) -> Pool<void>;

// Typed. T may be const, and incomplete where the pool's type is named, not where it is used.
template <class T, PoolThreads Threads, PoolChecks Checks, PoolSource Source>
class Pool : public BasicPool<Threads, Checks, Source> {
  static_assert(std::is_object_v<T> && !std::is_array_v<T>,
                "Pool<T> is of objects that are no arrays: for int[3] take Pool<std::array<int, 3>>");

 public:
  constexpr explicit Pool(PoolGrowth growth = {}, Source source = {})
      : BasicPool<Threads, Checks, Source>(sizeof(T), alignof(T), growth, TypeName<T>::text(), source) {}

  // A T made of the arguments. An exception of its constructor propagates, and the element is free again.
  template <class... Arguments>
  [[nodiscard]] T* construct(Arguments&&... arguments) {
    return construct_in(this->front_.allocate(), std::forward<Arguments>(arguments)...);
  }
  // Null if there is no memory.
  template <class... Arguments>
  [[nodiscard]] T* try_construct(Arguments&&... arguments) {
    void* const element = this->front_.try_allocate();
    return element != nullptr ? construct_in(element, std::forward<Arguments>(arguments)...) : nullptr;
  }
  // Null is ignored.
  void destroy(T* element) noexcept {
    if (element == nullptr) return;
    void* const storage = const_cast<std::remove_cv_t<T>*>(element);
    this->front_.expect_live("destroy", storage);
    element->~T();
    this->front_.deallocate(storage);
  }

  struct Destroy {
    Pool* pool = nullptr;
    void operator()(T* element) const noexcept { pool->destroy(element); }
  };
  // Owns one element. The pool must live longer.
  using UniquePtr = ElementOwner<T, Destroy>;

  template <class... Arguments>
  [[nodiscard]] UniquePtr make_unique(Arguments&&... arguments) {
    return UniquePtr(construct(std::forward<Arguments>(arguments)...), Destroy{this});
  }

  // visit(T&) for each live element, in the order of addresses; every element that was allocated must have been
  // constructed. With SingleThread and ThreadCached, visit may destroy the element that it is given; otherwise it must
  // not use the pool. O(slots + free log free). Alone.
  template <class Visit>
  void for_each_live(Visit&& visit) {
    this->front_.alone([&visit](auto& store) {
      store.for_each_live([&visit](void* element) { visit(*std::launder(static_cast<T*>(element))); });
    });
  }

  // Runs the destructor of each live element, which must not use the pool; then drop_all(). O(slots + free log free),
  // or O(blocks) if T needs no destructor. Alone.
  void destroy_all() noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) for_each_live([](T& element) { element.~T(); });
    this->drop_all();
  }

 private:
  // Gives the element back unless the constructor has finished.
  struct Claim {
    Pool* pool;
    void* element;
    ~Claim() {
      if (element != nullptr) pool->front_.deallocate(element);
    }
  };

  template <class... Arguments>
  T* construct_in(void* element, Arguments&&... arguments) {
    if constexpr (std::is_nothrow_constructible_v<T, Arguments...>)
      return ::new (element) T(std::forward<Arguments>(arguments)...);
    Claim claim{this, element};
    T* const made = ::new (element) T(std::forward<Arguments>(arguments)...);
    claim.element = nullptr;
    return made;
  }
};

}  // namespace snug
