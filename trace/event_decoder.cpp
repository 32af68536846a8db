#include "trace/event_decoder.h"

namespace snug::trace {

EventDecoder::EventDecoder(const ChunkHeader& header, std::span<const std::uint8_t> payload)
    : standing_{.thread = header.thread, .time = header.time, .turn = header.turn, .number = header.number},
      flags_(header.flags),
      begin_(payload.data()),
      at_(payload.data()),
      end_(payload.data() + payload.size()) {}

Decoded EventDecoder::next(Event& event) {
  if (at_ == end_ || *at_ == 0) return Decoded::kEnd;
  const std::uint8_t head = *at_;
  const std::uint8_t code = head & (kRefusedBit - 1);
  if (!is_operation(code)) return Decoded::kDamaged;
  const Standing before = standing_;
  event = {
      .operation = static_cast<Operation>(code), .is_refused = (head & kRefusedBit) != 0, .thread = standing_.thread};
  const Effect effect = event.effect();
  const bool may_allocate = effect == Effect::kAllocates || effect == Effect::kReallocates;
  if (event.is_refused && !may_allocate) return Decoded::kDamaged;
  const std::uint8_t* from = take_turn(at_ + 1, (head & kTurnBit) != 0, event);
  std::uint64_t steps = 0;
  if (from != nullptr) from = take_varint(from, end_, steps);
  if (from != nullptr && steps > kMostTime - standing_.time) from = nullptr;
  event.time = standing_.time + steps;
  if (from != nullptr) from = take_fields(from, event);
  if (from != nullptr && may_allocate && flags_ != 0) from = take_varint(from, end_, event.stack);
  const bool has_number = !event.allocates() || standing_.number < kMostNumber;
  const bool is_whole = from != nullptr && has_number;
  if (!is_whole || (event.operation == Operation::kNumber && (event.values[0] - 1 >= kMostNumber))) {
    standing_ = before;
    return Decoded::kDamaged;
  }
  if (event.allocates()) event.result = block_id(standing_.thread, standing_.number);
  standing_.advance(event, {event.time, event.turn, event.takes_turn});
  at_ = from;
  return Decoded::kEvent;
}

const std::uint8_t* EventDecoder::take_turn(const std::uint8_t* from, bool is_told, Event& event) const {
  event.turn = standing_.turn;
  if (!is_told) return from;
  std::uint64_t word = 0;
  from = take_varint(from, end_, word);
  event.takes_turn = (word & 1) != 0;
  event.turn += word >> 1;
  return word < 2 || word >> 1 > kMostTurn - standing_.turn ? nullptr : from;
}

const std::uint8_t* EventDecoder::take_block(const std::uint8_t* from, Event& event) {
  std::uint64_t word = 0;
  from = take_varint(from, end_, word);
  if (from == nullptr || word == 0) return from;
  if ((word & 1) == 0) {
    const std::uint64_t back = word >> 1;
    if (back >= standing_.number) return nullptr;
    event.block = block_id(standing_.thread, standing_.number - back);
    return from;
  }
  const std::uint64_t thread = word >> 1;
  from = take_varint(from, end_, word);
  const std::uint64_t number = standing_.foreign + static_cast<std::uint64_t>(unfold(word));
  if (from == nullptr || thread > kMostThread || number == 0 || number > kMostNumber) return nullptr;
  standing_.foreign = number;
  event.block = block_id(static_cast<std::uint32_t>(thread), number);
  return from;
}

const std::uint8_t* EventDecoder::take_text(const std::uint8_t* from, std::string_view& text) const {
  std::uint64_t length = 0;
  from = take_varint(from, end_, length);
  if (from == nullptr || length > kMostText || length > static_cast<std::uint64_t>(end_ - from)) return nullptr;
  text = {reinterpret_cast<const char*>(from), static_cast<std::size_t>(length)};
  return from + length;
}

const std::uint8_t* EventDecoder::take_fields(const std::uint8_t* from, Event& event) {
  std::size_t values = 0;
  std::size_t texts = 0;
  for (const Field field : traits_of(event.operation).fields) {
    if (field == Field::kNone || from == nullptr) break;
    switch (field) {
      case Field::kBlock:
        from = take_block(from, event);
        break;
      case Field::kSize:
        from = take_varint(from, end_, event.size);
        break;
      case Field::kAlignment:
        from = take_varint(from, end_, event.alignment);
        break;
      case Field::kSigned:
        from = take_varint(from, end_, event.values[values]);
        event.values[values] = static_cast<std::uint64_t>(unfold(event.values[values]));
        ++values;
        break;
      case Field::kText:
        from = take_text(from, event.texts[texts++]);
        break;
      default:
        from = take_varint(from, end_, event.values[values++]);
    }
  }
  return from;
}

}  // namespace snug::trace
