#include "record/frame_table.h"

#include <stdexcept>

#include "recorder/mix.h"

namespace snug::tool {

namespace {

constexpr std::size_t kMostFrames = std::size_t{1} << 31;  // half of the slots that a hash can tell apart

}  // namespace

FrameTable::Numbered FrameTable::number_of(const Frame& frame) {
  const std::uint64_t mixed = recorder::mixed(recorder::mixed(frame.caller ^ frame.module << 40) ^ frame.address);
  const auto hash = static_cast<std::uint32_t>(mixed >> 32);
  std::size_t place = home_of(hash);
  for (; slots_[place].number != 0; place = after(place))
    if (slots_[place].hash == hash && frames_[slots_[place].number - 1] == frame) return {slots_[place].number, false};
  if (frames_.size() == kMostFrames) throw std::length_error("a recording has at most 2^31 frames");
  if ((frames_.size() + 1) * 2 > slots_.size()) {
    grow();
    for (place = home_of(hash); slots_[place].number != 0;) place = after(place);
  }
  frames_.push_back(frame);
  slots_[place] = {hash, static_cast<std::uint32_t>(frames_.size())};
  return {frames_.size(), true};
}

void FrameTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  slots_.swap(old);
  ++bits_;
  for (const Slot& slot : old) {
    if (slot.number == 0) continue;
    std::size_t place = home_of(slot.hash);
    while (slots_[place].number != 0) place = after(place);
    slots_[place] = slot;
  }
}

}  // namespace snug::tool
