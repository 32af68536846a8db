// pooled.h: gives a class its own operator new and delete, which draw from one pool for all of its objects:
//
//   class Node : public snug::Pooled<Node> { … };
//   Node* n = new Node;   // from Pooled<Node>::pool()
//   delete n;
//
// Objects that do not fit go to the global operators: those of derived classes that are longer or aligned more
// strictly, and arrays. A derived object that is deleted through a pointer to its base needs a virtual destructor, as
// always: only then does delete know its size. Placement new is not changed.
//
// The pool exists before every static initialiser and is never destroyed, so that objects with static storage may be
// deleted at any time; its leaks are not looked for. With SingleThread, the default, only one thread at a time may make
// and delete objects of the class: name Locked or ThreadCached if more do.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "snug/pool.h"

namespace snug {

// A pool that is never destroyed.
template <class PoolType>
union EverlastingPool {
  template <class... Arguments>
  constexpr explicit EverlastingPool(Arguments... arguments) : pool(arguments...) {}
  constexpr ~EverlastingPool() {}  // NOLINT: the pool's own destructor is what must not run
  PoolType pool;
};

template <class T, PoolThreads Threads = SingleThread, PoolChecks Checks = Unchecked, PoolSource Source = HeapSource>
class Pooled {
 public:
  using ObjectPool = Pool<T, Threads, Checks, Source>;
  static ObjectPool& pool() noexcept { return everlasting_.pool; }

  // All are inlined: a compiler that sees the global operator on one side only warns of mismatched new and delete.
  [[gnu::always_inline]] static void* operator new(std::size_t size) {
    expect_own_class();
    return fits(size) ? pool().allocate() : ::operator new(size);
  }
  [[gnu::always_inline]] static void* operator new(std::size_t size, std::align_val_t alignment) {
    expect_own_class();
    return fits(size, alignment) ? pool().allocate() : ::operator new(size, alignment);
  }
  [[gnu::always_inline]] static void* operator new(std::size_t size, const std::nothrow_t& nothrow) noexcept {
    expect_own_class();
    return fits(size) ? pool().try_allocate() : ::operator new(size, nothrow);
  }
  [[gnu::always_inline]] static void* operator new(std::size_t size, std::align_val_t alignment,
                                                   const std::nothrow_t& nothrow) noexcept {
    expect_own_class();
    return fits(size, alignment) ? pool().try_allocate() : ::operator new(size, alignment, nothrow);
  }
  [[gnu::always_inline]] static void* operator new(std::size_t, void* place) noexcept { return place; }

  // There is no unsized form: it would be preferred to these, and could not tell a derived object from a T.
  [[gnu::always_inline]] static void operator delete(void* object, std::size_t size) noexcept {
    fits(size) ? pool().deallocate(object) : ::operator delete(object, size);
  }
  [[gnu::always_inline]] static void operator delete(void* object, std::size_t size,
                                                     std::align_val_t alignment) noexcept {
    fits(size, alignment) ? pool().deallocate(object) : ::operator delete(object, size, alignment);
  }
  // Called when a constructor throws. The size is not passed; the pool knows its own elements.
  [[gnu::always_inline]] static void operator delete(void* object, const std::nothrow_t&) noexcept {
    pool().owns(object) ? pool().deallocate(object) : ::operator delete(object);
  }
  [[gnu::always_inline]] static void operator delete(void* object, std::align_val_t alignment,
                                                     const std::nothrow_t&) noexcept {
    pool().owns(object) ? pool().deallocate(object) : ::operator delete(object, alignment);
  }
  // A template, as a delete expression never chooses one; it would otherwise be preferred to the sized form above.
  template <class Always = void>
  [[gnu::always_inline]] static void operator delete(void* object, std::align_val_t alignment) noexcept {
    pool().owns(object) ? pool().deallocate(object) : ::operator delete(object, alignment);
  }
  [[gnu::always_inline]] static void operator delete(void*, void*) noexcept {}

 private:
  // Rejects a class that inherits another's pool by mistake.
  static constexpr void expect_own_class() {
    static_assert(std::is_base_of_v<Pooled, T>, "Pooled<T> is a base of T itself: class T : public Pooled<T>");
  }

  // Slots of a size that is a multiple of 16 are aligned to 16, so that the plain forms, which are chosen up to that
  // alignment, need to look at the size alone: a derived class with T's size but a stricter alignment fits.
  static constexpr bool fits(std::size_t size) noexcept { return size == sizeof(T); }
  static constexpr bool fits(std::size_t size, std::align_val_t alignment) noexcept {
    return size == sizeof(T) && static_cast<std::size_t>(alignment) <= alignof(T);
  }

  static inline constinit EverlastingPool<ObjectPool> everlasting_{};
};

}  // namespace snug
