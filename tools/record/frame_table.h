// FrameTable: numbers frames, by what they are: a call at an address of a module, in the frame of its caller. A trace
// of a compiler has a million, which are not in the caches: a slot has a part of the frame's hash, so that as a rule
// only the frame that is looked for is read, and none when the table grows.
//
//   numbers are 1, 2, …, in the order in which frames came; at most half of the slots are used, and from its home slot
//   to where a frame's number stands no slot is empty
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace snug::tool {

struct Frame {
  std::uint64_t caller = 0;  // its number; 0: there is none
  std::uint64_t module = 0;  // 0: none is known, and the address is the process's
  std::uint64_t address = 0;
  friend bool operator==(const Frame&, const Frame&) = default;
};

class FrameTable {
 public:
  FrameTable() : slots_(std::size_t{1} << kFewestBits) {}

  struct Numbered {
    std::uint64_t number;
    bool is_new;
  };
  // Throws std::length_error at the 2³¹st frame, and std::bad_alloc; then nothing has changed.
  Numbered number_of(const Frame& frame);

 private:
  static constexpr unsigned kFewestBits = 10;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = 0;  // 0: empty
  };

  // The highest bits number the slot: so many tell hashes apart that the table may have 2³² slots.
  std::size_t home_of(std::uint32_t hash) const { return hash >> (32 - bits_); }
  std::size_t after(std::size_t place) const { return (place + 1) & (slots_.size() - 1); }
  void grow();

  unsigned bits_ = kFewestBits;  // of a slot's place
  std::vector<Slot> slots_;
  std::vector<Frame> frames_;  // by number, which begins with 1
};

}  // namespace snug::tool
