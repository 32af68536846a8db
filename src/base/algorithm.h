// What the library needs of the standard's algorithms (base/atomic.h says why it has its own). Ranges are
// [first, last) or [first, first + count).
#pragma once

#include <stddef.h>

namespace snug {

template <class T>
constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}
template <class T>
constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T>
constexpr const T& min(const T& a, const T& b, const T& c) {
  return min(min(a, b), c);
}
template <class T>
constexpr const T& max(const T& a, const T& b, const T& c) {
  return max(max(a, b), c);
}
// The value, or the limit that it is beyond; `least` is at most `most`.
template <class T>
constexpr const T& clamp(const T& value, const T& least, const T& most) {
  return value < least ? least : most < value ? most : value;
}

// Sets the object, and returns what it was.
template <class T, class New = T>
constexpr T exchange(T& object, New&& value) {
  T before = static_cast<T&&>(object);
  object = static_cast<New&&>(value);
  return before;
}

// How many elements an array has, and where it ends.
template <class T, size_t kCount>
constexpr size_t count_of(const T (&)[kCount]) {
  return kCount;
}
template <class T, size_t kCount>
constexpr T* end_of(T (&array)[kCount]) {
  return array + kCount;
}

// The place of the first element with the value, or `last`.
template <class T, class Value>
constexpr T* find_value(T* first, T* last, const Value& value) {
  while (first != last && !(*first == value)) ++first;
  return first;
}
template <class T>
constexpr bool equal(const T* first, const T* last, const T* other) {
  for (; first != last; ++first, ++other)
    if (!(*first == *other)) return false;
  return true;
}
template <class From, class To>
constexpr To* copy_n(const From* from, size_t count, To* to) {
  for (size_t i = 0; i != count; ++i) to[i] = from[i];
  return to + count;
}
template <class T, class Value>
constexpr void fill_n(T* first, size_t count, const Value& value) {
  for (size_t i = 0; i != count; ++i) first[i] = value;
}
template <class T, size_t kCount, class Value>
constexpr void fill_all(T (&array)[kCount], const Value& value) {
  fill_n(array, kCount, value);
}

}  // namespace snug
