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

// The operations on a plain word that lies elsewhere.
template <class T>
class AtomicRef {
 public:
  using value_type = T;

  SNUG_ALWAYS_INLINE explicit AtomicRef(T& word) : word_(&word) {}
  AtomicRef(const AtomicRef&) = default;
  AtomicRef& operator=(const AtomicRef&) = delete;

  SNUG_ALWAYS_INLINE T load(MemoryOrder order = kSeqCst) const {
    T value;
    __atomic_load(word_, &value, static_cast<int>(order));
    return value;
  }
  SNUG_ALWAYS_INLINE void store(T value, MemoryOrder order = kSeqCst) const {
    __atomic_store(word_, &value, static_cast<int>(order));
  }
  SNUG_ALWAYS_INLINE T exchange(T value, MemoryOrder order = kSeqCst) const {
    T before;
    __atomic_exchange(word_, &value, &before, static_cast<int>(order));
    return before;
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_strong(T& expected, T value, MemoryOrder order = kSeqCst) const {
    return compare_exchange_strong(expected, value, order, order_of_failure(order));
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_strong(T& expected, T value, MemoryOrder order, MemoryOrder failure) const {
    return __atomic_compare_exchange(word_, &expected, &value, false, static_cast<int>(order),
                                     static_cast<int>(failure));
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_weak(T& expected, T value, MemoryOrder order = kSeqCst) const {
    return compare_exchange_weak(expected, value, order, order_of_failure(order));
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_weak(T& expected, T value, MemoryOrder order, MemoryOrder failure) const {
    return __atomic_compare_exchange(word_, &expected, &value, true, static_cast<int>(order),
                                     static_cast<int>(failure));
  }
  // Of integers.
  SNUG_ALWAYS_INLINE T fetch_add(T by, MemoryOrder order = kSeqCst) const {
    return __atomic_fetch_add(word_, by, static_cast<int>(order));
  }
  SNUG_ALWAYS_INLINE T fetch_sub(T by, MemoryOrder order = kSeqCst) const {
    return __atomic_fetch_sub(word_, by, static_cast<int>(order));
  }
  SNUG_ALWAYS_INLINE T fetch_or(T bits, MemoryOrder order = kSeqCst) const {
    return __atomic_fetch_or(word_, bits, static_cast<int>(order));
  }
  SNUG_ALWAYS_INLINE T fetch_and(T bits, MemoryOrder order = kSeqCst) const {
    return __atomic_fetch_and(word_, bits, static_cast<int>(order));
  }

 private:
  T* word_;
};

template <class T>
class Atomic {
 public:
  using value_type = T;

  constexpr Atomic() : word_{} {}
  constexpr Atomic(T value) : word_(value) {}  // NOLINT(google-explicit-constructor): as a T
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  SNUG_ALWAYS_INLINE T load(MemoryOrder order = kSeqCst) const {
    T value;
    __atomic_load(&word_, &value, static_cast<int>(order));
    return value;
  }
  SNUG_ALWAYS_INLINE void store(T value, MemoryOrder order = kSeqCst) { ref().store(value, order); }
  SNUG_ALWAYS_INLINE T exchange(T value, MemoryOrder order = kSeqCst) { return ref().exchange(value, order); }
  SNUG_ALWAYS_INLINE bool compare_exchange_strong(T& expected, T value, MemoryOrder order = kSeqCst) {
    return ref().compare_exchange_strong(expected, value, order);
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_strong(T& expected, T value, MemoryOrder order, MemoryOrder failure) {
    return ref().compare_exchange_strong(expected, value, order, failure);
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_weak(T& expected, T value, MemoryOrder order = kSeqCst) {
    return ref().compare_exchange_weak(expected, value, order);
  }
  SNUG_ALWAYS_INLINE bool compare_exchange_weak(T& expected, T value, MemoryOrder order, MemoryOrder failure) {
    return ref().compare_exchange_weak(expected, value, order, failure);
  }
  // Of integers.
  SNUG_ALWAYS_INLINE T fetch_add(T by, MemoryOrder order = kSeqCst) { return ref().fetch_add(by, order); }
  SNUG_ALWAYS_INLINE T fetch_sub(T by, MemoryOrder order = kSeqCst) { return ref().fetch_sub(by, order); }
  SNUG_ALWAYS_INLINE T fetch_or(T bits, MemoryOrder order = kSeqCst) { return ref().fetch_or(bits, order); }
  SNUG_ALWAYS_INLINE T fetch_and(T bits, MemoryOrder order = kSeqCst) { return ref().fetch_and(bits, order); }

 private:
  SNUG_ALWAYS_INLINE AtomicRef<T> ref() { return AtomicRef<T>(word_); }

  // A struct of two halves is aligned as the halves are, and no processor reads it at once where it lies across lines.
  alignas(sizeof(T) > alignof(T) ? sizeof(T) : alignof(T)) T word_;
};

}  // namespace snug
