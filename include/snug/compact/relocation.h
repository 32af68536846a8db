// Relocation: how a T comes from one place to another, so that nothing is left where it was.
//
//   bytes are copied       if T is trivially copyable, or kTriviallyRelocatable<T> is specialised to say that T allows
//   it
//                          (std::unique_ptr does; std::string of libstdc++ does not, it may hold its own address)
//   relocate(from, to)     if T's namespace has it, whatever else holds: to is memory for a T. It must not throw, and
//                          must not use the heap. For objects whose address others know.
//   T(std::move(from)), from.~T()   else; neither may throw or use the heap
//
// Specialise the variable before the first use of T in a heap.
#pragma once

#include "snug/cpp20.h"

#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace snug {

template <class T>
inline constexpr bool kTriviallyRelocatable = std::is_trivially_copyable_v<T>;

template <class T>
concept RelocatedByFunction = requires(T* place) { relocate(place, place); };

// True if a T is moved by copying its bytes.
template <class T>
inline constexpr bool kMovedAsBytes = kTriviallyRelocatable<T> && !RelocatedByFunction<T>;

// `to` is memory for a T, and becomes the T that lies at `from`, which is memory only afterwards.
template <class T>
void relocate_at(void* from, void* to) noexcept {
  T* const old = std::launder(static_cast<T*>(from));
  if constexpr (RelocatedByFunction<T>) {
    relocate(old, static_cast<T*>(to));
  } else if constexpr (kTriviallyRelocatable<T>) {
    std::memcpy(to, from, sizeof(T));
  } else {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "a compacting heap moves its objects at any time: T needs a move constructor that does not throw, or "
                  "a function relocate(T* from, T* to)");
    ::new (to) T(std::move(*old));
    old->~T();
  }
}

// A T that was taken out of memory which may be moved or freed from now on; destroyed here, at the end of its scope.
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

}  // namespace snug
