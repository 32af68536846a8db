// Optional<T>: a value, or nothing. T has a default, and is cheap to copy.
#pragma once

#include "base/fatal.h"

namespace snug {

struct Nothing {};
inline constexpr Nothing kNothing{};

template <class T>
class Optional {
 public:
  constexpr Optional() = default;
  constexpr Optional(Nothing) {}                             // NOLINT(google-explicit-constructor): nothing
  constexpr Optional(T value) : value_(value), is_(true) {}  // NOLINT(google-explicit-constructor): a value

  constexpr bool has_value() const { return is_; }
  constexpr explicit operator bool() const { return is_; }
  // Only if there is a value.
  constexpr const T& operator*() const { return value_; }
  constexpr const T& value() const {
    SNUG_ASSERT(is_, "the caller has asked whether there is a value");
    return value_;
  }
  constexpr const T* operator->() const { return &value_; }
  constexpr T value_or(T other) const { return is_ ? value_ : other; }

  friend constexpr bool operator==(const Optional& a, const T& b) { return a.is_ && a.value_ == b; }
  friend constexpr bool operator==(const Optional& a, Nothing) { return !a.is_; }

 private:
  T value_{};
  bool is_ = false;
};

}  // namespace snug
