// The bytes of an event, encoded relative to its thread's standing after the event before, so that most numbers are
// small:
//
//   head | turn, if the head says so | time | the operation's fields | stack, in chunks that have stacks
//
// docs/trace-format.md shows it. Nothing here allocates, locks or fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace/event.h"
#include "trace/varint.h"

namespace snug::trace {

inline constexpr std::uint8_t kTurnBit = 0x80;     // of a head: a turn follows
inline constexpr std::uint8_t kRefusedBit = 0x40;  // of a head: the allocation failed
static_assert(kOperations <= kRefusedBit);

// The longest event without its texts, and what a text adds at most.
inline constexpr std::size_t kMostEventBytes = 1 + (2 + kMostFields + 2) * kMostVarint;
inline constexpr std::size_t kMostTextBytes = 3 + kMostText;

// Time and turn with which an event is written, which may be later than its own. Kept beside the event, since copying
// events would be the largest cost of appending one.
struct Stamp {
  std::uint64_t time = 0;
  std::uint64_t turn = 0;
  bool takes_turn = false;
};

// The standing of a thread between two events.
struct Standing {
  std::uint32_t thread = 0;
  std::uint64_t time = 0;
  std::uint64_t turn = 0;
  std::uint64_t number = 1;   // of the next block it is given
  std::uint64_t foreign = 0;  // of the block of another thread that it named last in this chunk

  // Advances the standing by an event.
  void advance(const Event& event, const Stamp& stamp) {
    time = stamp.time;
    turn = stamp.turn;
    if (event.operation == Operation::kNumber) number = event.values[0];
    if (event.allocates()) ++number;
  }
};

// An event without its first byte, which is stored last, as it makes the others valid.
struct EncodedEvent {
  std::uint8_t head;
  std::uint8_t* end;
};

// A block of the thread's own is encoded by how many allocations ago it was allocated.
inline std::uint8_t* put_block(std::uint8_t* to, BlockId block, Standing& at) {
  if (block == BlockId::kNone) return put_varint(to, 0);
  const std::uint64_t number = number_of(block);
  if (thread_of(block) == at.thread && number < at.number) return put_varint(to, (at.number - number) << 1);
  to = put_varint(to, std::uint64_t{thread_of(block)} << 1 | 1);
  to = put_varint(to, fold(static_cast<std::int64_t>(number - at.foreign)));
  at.foreign = number;
  return to;
}

inline std::uint8_t* put_text(std::uint8_t* to, std::string_view text) {
  const std::size_t length = text.size() < kMostText ? text.size() : kMostText;
  to = put_varint(to, length);
  if (length != 0) std::memcpy(to, text.data(), length);
  return to + length;
}

// Encodes the event's operation and fields. Neither time nor turn of the stamp is less than the thread's standing; a
// turn that the event takes is greater. The number of an allocation's result is the thread's next. Advances the
// standing.
inline EncodedEvent encode(const Event& event, const Stamp& stamp, Standing& at, std::uint16_t chunk_flags,
                           std::uint8_t* to) {
  const OperationTraits& traits = traits_of(event.operation);
  auto head = static_cast<std::uint8_t>(event.operation);
  if (event.is_refused) head |= kRefusedBit;
  std::uint8_t* end = to + 1;
  if (stamp.turn != at.turn) {
    head |= kTurnBit;
    end = put_varint(end, (stamp.turn - at.turn) << 1 | (stamp.takes_turn ? 1 : 0));
  }
  end = put_varint(end, stamp.time - at.time);
  std::size_t values = 0;
  std::size_t texts = 0;
  for (const Field field : traits.fields) {
    if (field == Field::kNone) break;
    switch (field) {
      case Field::kBlock:
        end = put_block(end, event.block, at);
        break;
      case Field::kSize:
        end = put_varint(end, event.size);
        break;
      case Field::kAlignment:
        end = put_varint(end, event.alignment);
        break;
      case Field::kSigned:
        end = put_varint(end, fold(static_cast<std::int64_t>(event.values[values++])));
        break;
      case Field::kText:
        end = put_text(end, event.texts[texts++]);
        break;
      default:
        end = put_varint(end, event.values[values++]);
    }
  }
  const bool may_have_stack = traits.effect == Effect::kAllocates || traits.effect == Effect::kReallocates;
  if (may_have_stack && chunk_flags != 0) end = put_varint(end, event.stack);
  at.advance(event, stamp);
  return {head, end};
}

}  // namespace snug::trace
