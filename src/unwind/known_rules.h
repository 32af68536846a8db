// KnownRules: the rules that have been asked for, by the call.
//
// Threads read and write without a lock: a slot's two words belong together if they are a call when taken together, and
// else it is asked anew. What was learned of code that has been unloaded since misleads a walk through other code in
// its place, which then ends or tells wrong calls, and reads only what it may: forget() helps.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "unwind/frame_rule.h"

namespace snug::unwind {

template <unsigned kBits>  // of the number of slots
class KnownRules {
 public:
  // As find_frame_rule(). What is unknown is asked for each time.
  FrameRule rule_of(uintptr_t call) {
    Slot& slot = slots_[call * 0x9e3779b97f4a7c15 >> (64 - kBits)];
    const uint64_t known = slot.rule.load(kRelaxed);
    if (known != 0 && (slot.mixed.load(kRelaxed) ^ known) == call) return unpacked(known);
    const FrameRule rule = find_frame_rule(call);
    if (rule.end == FrameRule::End::kUnknown) return rule;
    slot.rule.store(packed(rule), kRelaxed);
    slot.mixed.store(call ^ packed(rule), kRelaxed);
    return rule;
  }

  // A thread that has asked for a rule and not yet kept it may keep it afterwards.
  void forget() {
    for (Slot& slot : slots_)
      if (slot.rule.load(kRelaxed) != 0) slot.rule.store(0, kRelaxed);
  }

 private:
  static constexpr unsigned kOffsetBits = 28;
  static constexpr int32_t kUnit = 8;
  struct Slot {
    Atomic<uint64_t> rule{0};
    Atomic<uint64_t> mixed{0};
  };

  // Offsets are multiples of 8, below 1 GiB.
  static uint64_t packed(const FrameRule& rule) {
    return uint64_t{static_cast<uint8_t>(rule.end)} << (2 * kOffsetBits) | packed(rule.end_offset) << kOffsetBits |
           packed(rule.saved_offset);
  }
  static uint64_t packed(int32_t offset) {
    return static_cast<uint64_t>(offset / kUnit) & ((uint64_t{1} << kOffsetBits) - 1);
  }
  static int32_t offset_at(uint64_t word, unsigned bit) {
    constexpr unsigned kAbove = 32 - kOffsetBits;
    return (static_cast<int32_t>(static_cast<uint32_t>(word >> bit) << kAbove) >> kAbove) * kUnit;
  }
  static FrameRule unpacked(uint64_t word) {
    return {static_cast<FrameRule::End>(word >> (2 * kOffsetBits)), offset_at(word, kOffsetBits), offset_at(word, 0)};
  }

  Slot slots_[size_t{1} << kBits];
};

}  // namespace snug::unwind
