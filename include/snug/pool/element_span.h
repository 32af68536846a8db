// ElementSpan: a view of addresses in the caller's memory, which allocate_batch() fills and deallocate_batch() reads:
// of an array, of anything with data() and size() (std::vector, std::array, std::span), or {first, count}. It is no
// std::span, which takes half as long to compile as a pool.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <type_traits>

namespace snug {

// Address: void* or void* const.
template <class Address>
class ElementSpan {
 public:
  constexpr ElementSpan(Address* first, std::size_t count) noexcept : first_(first), count_(count) {}
  template <std::size_t kCount>
  constexpr ElementSpan(Address (&array)[kCount]) noexcept  // NOLINT(google-explicit-constructor): as std::span's
      : first_(array), count_(kCount) {}
  template <std::size_t kCount>
    requires std::is_const_v<Address>
  constexpr ElementSpan(std::remove_const_t<Address> (&array)[kCount]) noexcept  // NOLINT(google-explicit-constructor)
      : first_(array), count_(kCount) {}
  template <class Range>
    requires requires(Range& range, Address*& first, std::size_t& count) {
      first = range.data();
      count = range.size();
    }
  constexpr ElementSpan(Range&& range) noexcept  // NOLINT(google-explicit-constructor)
      : first_(range.data()), count_(range.size()) {}

  constexpr Address* data() const noexcept { return first_; }
  constexpr std::size_t size() const noexcept { return count_; }

 private:
  Address* first_;
  std::size_t count_;
};

}  // namespace snug
