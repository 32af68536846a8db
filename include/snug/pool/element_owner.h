// ElementOwner: owns one element of a pool, as a std::unique_ptr with the pool's Destroy would; <memory> takes three
// times as long to compile as a pool. unique_ptr<T, Destroy>(o.release(), d) makes a unique_ptr of it.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>

namespace snug {

template <class T, class Destroy>
class ElementOwner {
 public:
  using pointer = T*;
  using element_type = T;
  using deleter_type = Destroy;

  // Empty.
  constexpr ElementOwner(std::nullptr_t = nullptr) noexcept {}  // NOLINT(google-explicit-constructor): as unique_ptr's
  constexpr ElementOwner(T* element, Destroy destroy) noexcept : element_(element), destroy_(destroy) {}
  constexpr ElementOwner(ElementOwner&& other) noexcept : element_(other.release()), destroy_(other.destroy_) {}
  constexpr ElementOwner& operator=(ElementOwner&& other) noexcept {
    if (this != &other) {
      reset(other.release());
      destroy_ = other.destroy_;
    }
    return *this;
  }
  constexpr ElementOwner& operator=(std::nullptr_t) noexcept {
    reset();
    return *this;
  }
  constexpr ~ElementOwner() { reset(); }

  constexpr T* get() const noexcept { return element_; }
  constexpr T& operator*() const noexcept { return *element_; }
  constexpr T* operator->() const noexcept { return element_; }
  constexpr explicit operator bool() const noexcept { return element_ != nullptr; }
  constexpr Destroy& get_deleter() noexcept { return destroy_; }

  // Gives up the ownership: the caller owns the element.
  [[nodiscard]] constexpr T* release() noexcept {
    T* const element = element_;
    element_ = nullptr;
    return element;
  }
  // Destroys the element; owns another of the same pool, or none.
  constexpr void reset(T* element = nullptr) noexcept {
    T* const old = element_;
    element_ = element;
    if (old != nullptr) destroy_(old);
  }

  friend constexpr bool operator==(const ElementOwner& owner, std::nullptr_t) noexcept {
    return owner.element_ == nullptr;
  }
  friend constexpr bool operator==(const ElementOwner& a, const ElementOwner& b) noexcept {
    return a.element_ == b.element_;
  }

 private:
  T* element_ = nullptr;
  Destroy destroy_{};
};

}  // namespace snug
