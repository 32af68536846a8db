// MallinfoSlots: what mallinfo2 says in a process, as it comes in slots of its ring, one behind the other.
//
//   fields() are whole  <=>  the last add_rest() was true
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "recorder/ring.h"

namespace snug::tool {

class MallinfoSlots {
 public:
  static bool begins_with(const recorder::RingEvent& event) { return event.operation == recorder::kMallinfo; }

  void begin(const recorder::RingEvent& event) {
    first_ = event;
    fields_[0] = event.address;
    fields_[1] = event.size;
    taken_ = 1;
  }
  bool awaits_rest() const { return taken_ != 0; }
  // The thread that began it was killed, or torn out of it.
  void drop() { taken_ = 0; }
  // Whether it was the last.
  bool add_rest(const recorder::RingEvent& event) {
    fields_[2 * taken_] = event.address;
    fields_[2 * taken_ + 1] = event.size;
    if (++taken_ < recorder::kMallinfoSlots) return false;
    taken_ = 0;
    moment_before_ = event.moment;
    return true;
  }

  // The slot that they began with: its moment is that behind the call.
  const recorder::RingEvent& first() const { return first_; }
  std::uint64_t moment_before() const { return moment_before_; }
  const std::array<std::uint64_t, recorder::kMallinfoFields>& fields() const { return fields_; }

 private:
  recorder::RingEvent first_;
  std::size_t taken_ = 0;
  std::uint64_t moment_before_ = 0;
  std::array<std::uint64_t, recorder::kMallinfoFields> fields_ = {};
};

}  // namespace snug::tool
