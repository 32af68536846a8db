// Handle: the name of a T in a CompactHeap, for as long as the T lives, wherever the T is moved. Eight bytes, copied
// like a number. It owns nothing, and never names another block after its own was freed.
#pragma once

#include "snug/base/cpp20.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeindex>  // the shortest header that has std::hash

#include "snug/compact_heap_c.h"

namespace snug {

// Handle<void> names a block of bytes; every handle is one.
template <class T = void>
class Handle {
 public:
  constexpr Handle() noexcept = default;
  constexpr Handle(std::nullptr_t) noexcept {}
  // Makes a handle of the C interface's word, for a block that holds a T.
  constexpr explicit Handle(snug_handle word) noexcept : word_(word) {}
  // Converts to a handle of a const T, or of void.
  template <class U>
    requires(!std::is_same_v<U, T> && (std::is_void_v<T> || std::is_same_v<const U, T>))
  constexpr Handle(Handle<U> other) noexcept : word_(other.word()) {}

  constexpr snug_handle word() const noexcept { return word_; }
  constexpr explicit operator bool() const noexcept { return word_ != 0; }

  // The order is not that of the blocks' addresses.
  friend constexpr auto operator<=>(Handle, Handle) noexcept = default;

 private:
  snug_handle word_ = 0;  // 0: null
};

static_assert(sizeof(Handle<int>) == 8 && std::is_trivially_copyable_v<Handle<int>>);

}  // namespace snug

template <class T>
struct std::hash<snug::Handle<T>> {
  std::size_t operator()(snug::Handle<T> handle) const noexcept { return static_cast<std::size_t>(handle.word()); }
};
