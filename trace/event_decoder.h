// EventDecoder: reads the events of one chunk's payload, in their order. Holds no memory; the caller owns the payload,
// which may contain anything: bytes that are no event end the reading.
#pragma once

#include <cstdint>
#include <span>

#include "trace/event.h"
#include "trace/event_encoder.h"
#include "trace/layout.h"

namespace snug::trace {

enum class Decoded : std::uint8_t { kEvent, kEnd, kDamaged };

class EventDecoder {
 public:
  // The header gives the thread's time, turn and number: at most kMostTime, kMostTurn and kMostNumber.
  EventDecoder(const ChunkHeader& header, std::span<const std::uint8_t> payload);

  // kEnd behind the last event, or before a head that is 0. The texts of the event point into the payload.
  Decoded next(Event& event);

  // After kEvent, how many bytes it took; after kDamaged, where in the payload the bad event begins.
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  const Standing& standing() const { return standing_; }

 private:
  const std::uint8_t* take_turn(const std::uint8_t* from, bool is_told, Event& event) const;
  const std::uint8_t* take_block(const std::uint8_t* from, Event& event);
  const std::uint8_t* take_text(const std::uint8_t* from, std::string_view& text) const;
  const std::uint8_t* take_fields(const std::uint8_t* from, Event& event);

  Standing standing_;
  std::uint16_t flags_;
  const std::uint8_t* begin_;
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace snug::trace
