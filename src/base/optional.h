// Optional<T>: a value, or nothing. T has a default, and is cheap to copy.
#pragma once

namespace snug {

template <class T>
class Optional {
 public:
  constexpr Optional() = default;
  constexpr Optional(T value) : value_(value), is_(true) {}  // NOLINT(google-explicit-constructor): a value

  constexpr explicit operator bool() const { return is_; }
  // Only if there is a value.
  constexpr const T& operator*() const { return value_; }
  constexpr const T* operator->() const { return &value_; }

  friend constexpr bool operator==(const Optional& a, const T& b) { return a.is_ && a.value_ == b; }

 private:
  T value_{};
  bool is_ = false;
};

}  // namespace snug
