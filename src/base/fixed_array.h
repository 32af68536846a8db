// FixedArray: a row of objects of a known number, that a function may return and a loop may go through. ArrayView: a
// row of objects that lies elsewhere.
#pragma once

#include <stddef.h>

namespace snug {

template <class T, size_t kCount>
struct FixedArray {
  T elements[kCount];

  constexpr T& operator[](size_t index) { return elements[index]; }
  constexpr const T& operator[](size_t index) const { return elements[index]; }
  constexpr const T* data() const { return elements; }
  constexpr T* begin() { return elements; }
  constexpr T* end() { return elements + kCount; }
  constexpr const T* begin() const { return elements; }
  constexpr const T* end() const { return elements + kCount; }
};
template <class T, class... More>
FixedArray(T, More...) -> FixedArray<T, 1 + sizeof...(More)>;

template <class T>
class ArrayView {
 public:
  constexpr ArrayView(T* first, size_t count) : first_(first), count_(count) {}
  constexpr T* begin() const { return first_; }
  constexpr T* end() const { return first_ + count_; }

 private:
  T* first_;
  size_t count_;
};

}  // namespace snug
