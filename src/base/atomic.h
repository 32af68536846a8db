// Atomic<T> and AtomicRef<T>: words that threads share, over the compiler's own operations. They have the members of
// the standard's atomics; the library includes no header of C++, so that it compiles where there is no C++ library.
//
// T is trivially copyable, and of a size that the processor reads and writes at once.
#pragma once

#include "base/compiler.h"

namespace snug {

enum class MemoryOrder : int {
  kRelaxed = __ATOMIC_RELAXED,
  kAcquire = __ATOMIC_ACQUIRE,
  kRelease = __ATOMIC_RELEASE,
  kAcqRel = __ATOMIC_ACQ_REL,
  kSeqCst = __ATOMIC_SEQ_CST,
};
inline constexpr MemoryOrder kRelaxed = MemoryOrder::kRelaxed;
inline constexpr MemoryOrder kAcquire = MemoryOrder::kAcquire;
inline constexpr MemoryOrder kRelease = MemoryOrder::kRelease;
inline constexpr MemoryOrder kAcqRel = MemoryOrder::kAcqRel;
inline constexpr MemoryOrder kSeqCst = MemoryOrder::kSeqCst;

// What a compare_exchange has that finds another value, and so writes nothing.
constexpr MemoryOrder order_of_failure(MemoryOrder order) {
  return order == kAcqRel ? kAcquire : order == kRelease ? kRelaxed : order;
}

SNUG_ALWAYS_INLINE void thread_fence(MemoryOrder order) { __atomic_thread_fence(static_cast<int>(order)); }
// Keeps only the compiler from reordering.
SNUG_ALWAYS_INLINE void compiler_fence(MemoryOrder order) { __atomic_signal_fence(static_cast<int>(order)); }

// The operations, on the word that Its::word() leads to.
template <class T, class Its>
class AtomicOperations {
 public:
  SNUG_ALWAYS_INLINE T load(MemoryOrder order = kSeqCst) const {
    T value;
    __atomic_load(static_cast<const Its*>(this)->word(), &value, static_cast<int>(order));
    return value;
  }
  SNUG_ALWAYS_INLINE void store(T value, MemoryOrder order = kSeqCst) {
    __atomic_store(word(), &value, static_cast<int>(order));
  }
  SNUG_ALWAYS_INLINE T exchange(T value, MemoryOrder order = kSeqCst) {
    T before;
    __atomic_exchange(word(), &value, &before, static_cast<int>(order));
    return before;
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_strong(T& expected, T value, MemoryOrder order = kSeqCst) {
    return compare_exchange_strong(expected, value, order, order_of_failure(order));
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_strong(T& expected, T value, MemoryOrder order, MemoryOrder failure) {
    return __atomic_compare_exchange(word(), &expected, &value, false, static_cast<int>(order),
                                     static_cast<int>(failure));
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_weak(T& expected, T value, MemoryOrder order = kSeqCst) {
    return compare_exchange_weak(expected, value, order, order_of_failure(order));
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_weak(T& expected, T value, MemoryOrder order, MemoryOrder failure) {
    return __atomic_compare_exchange(word(), &expected, &value, true, static_cast<int>(order),
                                     static_cast<int>(failure));
  }
  // Of integers.
  SNUG_ALWAYS_INLINE T fetch_add(T by, MemoryOrder order = kSeqCst) {
    return __atomic_fetch_add(word(), by, static_cast<int>(order));
  }
  SNUG_ALWAYS_INLINE T fetch_sub(T by, MemoryOrder order = kSeqCst) {
    return __atomic_fetch_sub(word(), by, static_cast<int>(order));
  }
  SNUG_ALWAYS_INLINE T fetch_or(T bits, MemoryOrder order = kSeqCst) {
    return __atomic_fetch_or(word(), bits, static_cast<int>(order));
  }
  SNUG_ALWAYS_INLINE T fetch_and(T bits, MemoryOrder order = kSeqCst) {
    return __atomic_fetch_and(word(), bits, static_cast<int>(order));
  }

 private:
  SNUG_ALWAYS_INLINE T* word() { return static_cast<Its*>(this)->word(); }
};

// Of a plain word that lies elsewhere.
template <class T>
class AtomicRef : public AtomicOperations<T, AtomicRef<T>> {
 public:
  SNUG_ALWAYS_INLINE explicit AtomicRef(T& word) : word_(&word) {}
  AtomicRef(const AtomicRef&) = default;
  AtomicRef& operator=(const AtomicRef&) = delete;

 private:
  friend class AtomicOperations<T, AtomicRef>;
  SNUG_ALWAYS_INLINE T* word() const { return word_; }

  T* word_;
};

template <class T>
class Atomic : public AtomicOperations<T, Atomic<T>> {
 public:
  constexpr Atomic() : word_{} {}
  constexpr Atomic(T value) : word_(value) {}  // NOLINT(google-explicit-constructor): as a T
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

 private:
  friend class AtomicOperations<T, Atomic>;
  SNUG_ALWAYS_INLINE T* word() { return &word_; }
  SNUG_ALWAYS_INLINE const T* word() const { return &word_; }

  // A struct of two halves is aligned as the halves are, and no processor reads it at once where it lies across lines.
  alignas(sizeof(T) > alignof(T) ? sizeof(T) : alignof(T)) T word_;
};

}  // namespace snug
