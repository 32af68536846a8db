// Event: one operation of a program on its memory, as it is passed to a writer and returned by a reader.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/block_id.h"
#include "trace/operation.h"

namespace snug::trace {

// Bytes of a text. A longer one is cut by the writer, and a chunk that has one is damaged.
inline constexpr std::size_t kMostText = 4096;

struct Event {
  Operation operation = Operation::kNone;
  // An allocation that failed. A reallocation that failed did not change its block; with size 0, it freed the block.
  bool is_refused = false;
  // True if this event takes the turn, as no other does; it is then the first of its turn.
  bool takes_turn = false;
  std::uint32_t thread = 0;
  std::uint64_t time = 0;  // in steps of 64 ns, from the trace's beginning
  std::uint64_t turn = 0;

  BlockId block = BlockId::kNone;   // that is freed, asked about, or was found
  BlockId result = BlockId::kNone;  // the new block of an allocation or a reallocation that was not refused
  std::uint64_t size = 0;           // requested, or passed to a free
  std::uint64_t alignment = 0;
  std::uint64_t stack = 0;  // of an allocation or a reallocation: the frame that a `frame` event defined; 0 is unknown

  std::array<std::uint64_t, kMostFields> values = {};  // kValue and kSigned, by their order among these
  std::array<std::string_view, 2> texts = {};          // kText, by their order; a reader's live until the next event

  constexpr Effect effect() const { return traits_of(operation).effect; }
  // True if a block is allocated; and if one is freed.
  constexpr bool allocates() const {
    return !is_refused && (effect() == Effect::kAllocates || effect() == Effect::kReallocates);
  }
  // True if it is about a block that stays.
  constexpr bool is_about_block() const {
    return operation == Operation::kUsableSize || operation == Operation::kTouched;
  }
  constexpr bool frees() const {
    if (block == BlockId::kNone) return false;
    return effect() == Effect::kFrees || (effect() == Effect::kReallocates && (!is_refused || size == 0));
  }
};

inline constexpr std::uint64_t kNanosecondsPerStep = 64;
// Bounds that no program reaches, within which no difference overflows.
inline constexpr std::uint64_t kMostTime = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kMostTurn = std::uint64_t{1} << 62;

// The place of an event in the total order. Of the events of one turn the one that took it comes first; the others have
// no order between their threads, so time decides, then the thread's number.
struct Place {
  std::uint64_t turn;
  bool follows;  // the event that took the turn
  std::uint64_t time;
  std::uint32_t thread;

  friend constexpr auto operator<=>(const Place&, const Place&) = default;
};

constexpr Place place_of(const Event& event) { return {event.turn, !event.takes_turn, event.time, event.thread}; }

}  // namespace snug::trace
