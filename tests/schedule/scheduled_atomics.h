// ScheduledAtomics: the atomics policy under which a protocol's template runs in explore(), with the names and meanings
// of the shipping one, StdAtomics (src/base/std_atomics.h); each operation is a step of the schedule.
//
// Atomic holds what is trivially copyable and has at most 8 bytes. Weak compare_exchange never fails without a reason,
// as on x86-64. Var<T> is plain data: it behaves like a T, and each access is checked for a race.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "base/atomic.h"
#include "scheduler.h"

namespace snug::schedule {

template <class T>
uint64_t to_bits(const T& value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T) < sizeof bits ? sizeof(T) : sizeof bits);
  return bits;
}

template <class T>
class ScheduledAtomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));
  using Where = std::source_location;
  using Order = MemoryOrder;

 public:
  using value_type = T;

  ScheduledAtomic() : ScheduledAtomic(T{}) {}
  ScheduledAtomic(T value)  // NOLINT(google-explicit-constructor): as std::atomic
      : location_(static_cast<uint8_t>(scheduler().create(to_bits(value)))) {}
  ~ScheduledAtomic() { scheduler().destroy(location_); }
  ScheduledAtomic(const ScheduledAtomic&) = delete;
  ScheduledAtomic& operator=(const ScheduledAtomic&) = delete;

  T load(Order order = kSeqCst, Where where = Where::current()) const {
    return from_bits(scheduler().load({Kind::kLoad, location_, order, where}));
  }
  void store(T value, Order order = kSeqCst, Where where = Where::current()) {
    scheduler().store({Kind::kStore, location_, order, where}, to_bits(value));
  }
  T exchange(T value, Order order = kSeqCst, Where where = Where::current()) {
    return update(Kind::kExchange, order, where, [value](T) { return value; });
  }

  bool compare_exchange_strong(T& expected, T value, Order success, Order failure, Where where = Where::current()) {
    uint64_t bits = to_bits(expected);
    const bool replaced = scheduler().compare_exchange({Kind::kCompareExchange, location_, success, where, failure},
                                                       bits, to_bits(value));
    if (!replaced) expected = from_bits(bits);
    return replaced;
  }
  bool compare_exchange_strong(T& expected, T value, Order order = kSeqCst, Where where = Where::current()) {
    return compare_exchange_strong(expected, value, order, on_failure(order), where);
  }
  bool compare_exchange_weak(T& expected, T value, Order success, Order failure, Where where = Where::current()) {
    return compare_exchange_strong(expected, value, success, failure, where);
  }
  bool compare_exchange_weak(T& expected, T value, Order order = kSeqCst, Where where = Where::current()) {
    return compare_exchange_strong(expected, value, order, on_failure(order), where);
  }

  // Of pointers in elements, as std::atomic.
  template <class Operand = T>
  T fetch_add(std::conditional_t<std::is_pointer_v<Operand>, ptrdiff_t, Operand> by, Order order = kSeqCst,
              Where where = Where::current()) {
    return update(Kind::kFetch, order, where, [by](T old) { return static_cast<T>(old + by); });
  }
  template <class Operand = T>
  T fetch_sub(std::conditional_t<std::is_pointer_v<Operand>, ptrdiff_t, Operand> by, Order order = kSeqCst,
              Where where = Where::current()) {
    return update(Kind::kFetch, order, where, [by](T old) { return static_cast<T>(old - by); });
  }
  T fetch_or(T bits, Order order = kSeqCst, Where where = Where::current()) {
    return update(Kind::kFetch, order, where, [bits](T old) { return static_cast<T>(old | bits); });
  }
  T fetch_and(T bits, Order order = kSeqCst, Where where = Where::current()) {
    return update(Kind::kFetch, order, where, [bits](T old) { return static_cast<T>(old & bits); });
  }
  T fetch_xor(T bits, Order order = kSeqCst, Where where = Where::current()) {
    return update(Kind::kFetch, order, where, [bits](T old) { return static_cast<T>(old ^ bits); });
  }

  uint8_t location() const { return location_; }

 private:
  static Scheduler& scheduler() { return Scheduler::active(); }
  static T from_bits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static Order on_failure(Order order) {
    if (order == kAcqRel) return kAcquire;
    return order == kRelease ? kRelaxed : order;
  }
  template <class Change>
  T update(Kind kind, Order order, Where where, Change change) {
    return from_bits(scheduler().update({kind, location_, order, where},
                                        [&](uint64_t old) { return to_bits(change(from_bits(old))); }));
  }

  uint8_t location_;
};

template <class T>
class ScheduledVar {
 public:
  ScheduledVar() : ScheduledVar(T{}) {}
  ScheduledVar(const T& value) : value_(value) {  // NOLINT(google-explicit-constructor): as a T
    Scheduler::active().made(accesses_);
  }
  ScheduledVar(const ScheduledVar& other) : ScheduledVar(other.get()) {}
  ScheduledVar& operator=(const ScheduledVar& other) { return *this = other.get(); }

  operator T() const { return get(); }  // NOLINT(google-explicit-constructor): as a T
  T operator->() const { return get(); }
  ScheduledVar& operator=(const T& value) {
    Scheduler::active().write(accesses_, to_bits(value));
    value_ = value;
    return *this;
  }
  ScheduledVar& operator+=(const T& by) { return *this = static_cast<T>(get() + by); }
  ScheduledVar& operator-=(const T& by) { return *this = static_cast<T>(get() - by); }
  ScheduledVar& operator|=(const T& bits) { return *this = static_cast<T>(get() | bits); }
  ScheduledVar& operator&=(const T& bits) { return *this = static_cast<T>(get() & bits); }
  ScheduledVar& operator++() { return *this += T{1}; }
  ScheduledVar& operator--() { return *this -= T{1}; }
  T operator++(int) {
    const T old = get();
    *this = static_cast<T>(old + 1);
    return old;
  }
  T operator--(int) {
    const T old = get();
    *this = static_cast<T>(old - 1);
    return old;
  }

 private:
  const T& get() const {
    Scheduler::active().read(accesses_, to_bits(value_));
    return value_;
  }

  T value_;
  mutable Accesses accesses_;
};

struct ScheduledAtomics {
  template <class T>
  using Atomic = ScheduledAtomic<T>;
  template <class T>
  using Var = ScheduledVar<T>;
  using Where = std::source_location;

  // How often a loop may spin before it does something else: as often as it needs to be seen.
  static constexpr int kSpins = 1;

  static void fence(MemoryOrder order, Where where = Where::current()) {
    Scheduler::active().fence({Kind::kFence, 0, order, where});
  }
  // Half a fence, the other half of which is another thread's membarrier().
  static void light_fence(Where where = Where::current()) {
    Scheduler::active().light_fence({Kind::kLightFence, 0, kSeqCst, where});
  }
  static bool prepare_membarrier() { return true; }
  static bool membarrier(Where where = Where::current()) {
    Scheduler::active().membarrier({Kind::kMembarrier, 0, kSeqCst, where});
    return true;
  }

  // In each round of a loop that waits for others. The thread goes on once something that the round has read has
  // changed; a round must so depend on nothing else, such as a counter of rounds.
  static void cpu_relax(Where where = Where::current()) {
    Scheduler::active().yield({Kind::kYield, 0, kRelaxed, where});
  }
  static void yield(Where where = Where::current()) { cpu_relax(where); }
  // The same where a round takes a lock and gives it back: nothing has changed by what it has written itself. The
  // thread goes on once another has changed anything.
  static void pause(Where where = Where::current()) { Scheduler::active().pause({Kind::kPause, 0, kRelaxed, where}); }
  // The calling thread goes on in the child of a fork, where it is alone: the others end where they are, and of what
  // they have stored there is what has landed.
  static void fork_to_child(Where where = Where::current()) {
    Scheduler::active().fork_to_child({Kind::kFork, 0, kSeqCst, where});
  }

  // Sleeps if the word is `expected`, until it is woken, never without a reason; with a time, whichever, until any
  // moment. A loop around a wait with a time needs another end, or nobody else need ever come.
  static void futex_wait(Atomic<uint32_t>& word, uint32_t expected, const timespec* length = nullptr,
                         Where where = Where::current()) {
    Scheduler::active().futex_wait({Kind::kFutexWait, word.location(), kSeqCst, where}, expected, length != nullptr);
  }
  static void futex_wake(Atomic<uint32_t>& word, int count, Where where = Where::current()) {
    Scheduler::active().futex_wake({Kind::kFutexWake, word.location(), kSeqCst, where}, count);
  }
};

}  // namespace snug::schedule
