// Relocation: how a T is moved from one place to another, so that no object is left at the old place.
//
//   bytes are copied       if T is trivially copyable, or kTriviallyRelocatable<T> is specialised to say that T allows
//                          it (std::unique_ptr does; std::string of libstdc++ does not, it may hold its own address)
//   relocate(from, to)     if T's namespace has it, whatever else holds: to is memory for a T. It must not throw, and
//                          must not use the heap. For objects with an address that other objects know. If a base of T
//                          has one, T needs its own: the base's would leave the rest of the object behind.
//   T(std::move(from)), from.~T()   else; neither may throw or use the heap
//
// Specialise the variable before the first use of T in a heap.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace snug {

template <class T>
inline constexpr bool kTriviallyRelocatable = std::is_trivially_copyable_v<T>;

// A function for T* is a better match than this template; one for pointers to a base of T is a worse match.
namespace relocation {
template <class T>
void relocate(T* from, T* to) = delete;
template <class T>
concept HasFunction = requires(T* place) { relocate(place, place); };
}  // namespace relocation

template <class T>
concept RelocatedByFunction = relocation::HasFunction<T>;

template <class T>
concept RelocatedByAnothersFunction = !RelocatedByFunction<T> && requires(T* place) { relocate(place, place); };

// True if a T is moved by copying its bytes.
template <class T>
inline constexpr bool kMovedAsBytes = [] {
  using Object = std::remove_cv_t<T>;
  static_assert(!RelocatedByAnothersFunction<Object>,
                "the relocate(from, to) that is found for T is its base's, or one for any type: give T its own");
  return kTriviallyRelocatable<Object> && !RelocatedByFunction<Object>;
}();

// GCC would warn of bytes of an object that its constructor has not set.
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
[[gnu::always_inline]] inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
#pragma GCC diagnostic pop

// Moves the T at `from` to `to`, memory for a T; afterwards `from` is only memory.
template <class T>
void relocate_at(void* from, void* to) noexcept {
  T* const old = std::launder(static_cast<T*>(from));
  if constexpr (RelocatedByFunction<T>) {
    relocate(old, static_cast<T*>(to));
  } else if constexpr (kTriviallyRelocatable<T>) {
    copy_bytes(to, from, std::is_empty_v<T> ? 0 : sizeof(T));
  } else {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "a compacting heap moves its objects at any time: T needs a move constructor that does not throw, or "
                  "a function relocate(T* from, T* to)");
    ::new (to) T(std::move(*old));
    old->~T();
  }
}

// A T taken out of its memory, which may be moved or freed from now on; the T is destroyed at the end of the scope.
template <class T>
class TakenOut {
 public:
  explicit TakenOut(void* from) noexcept { relocate_at<T>(from, place_); }
  TakenOut(const TakenOut&) = delete;
  TakenOut& operator=(const TakenOut&) = delete;
  ~TakenOut() { std::launder(reinterpret_cast<T*>(place_))->~T(); }

 private:
  alignas(T) unsigned char place_[sizeof(T)];
};

// A T that is made here, to be moved into a heap's memory afterwards. Destroyed here if that does not happen.
template <class T>
class Replacement {
 public:
  template <class... Arguments>
  explicit Replacement(Arguments&&... arguments) {
    ::new (static_cast<void*>(place_)) T(std::forward<Arguments>(arguments)...);
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    if (is_here_) std::launder(reinterpret_cast<T*>(place_))->~T();
  }

  // Moves the T to `place`, memory for a T. To be called once.
  void move_to(void* place) noexcept {
    relocate_at<T>(place_, place);
    is_here_ = false;
  }
  // Replaces the object at `old`; its destructor runs last, when the new one is in place. To be called once.
  void put_at(T* old) noexcept {
    const TakenOut<T> taken(old);
    move_to(old);
  }

 private:
  alignas(T) unsigned char place_[sizeof(T)];
  bool is_here_ = true;
};

}  // namespace snug
