#include "input/allocation_trace.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::size_t kMostFields = 4;

struct Fields {
  std::array<std::string_view, kMostFields> words;
  std::size_t count = 0;  // may be more than are kept
};

Fields split(std::string_view line) {
  Fields fields;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find('\t', begin);
    if (fields.count < kMostFields) fields.words[fields.count] = line.substr(begin, end - begin);
    ++fields.count;
    if (end == std::string_view::npos) return fields;
    begin = end + 1;
  }
}

// Keys are mostly addresses, which %p writes with 0x.
std::uint64_t parse_key(std::string_view word) {
  const std::string_view digits = word.substr(word.starts_with("0x") ? 2 : 0);
  std::uint64_t key = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), key, 16);
  if (error == std::errc::result_out_of_range)
    throw UserError(fmt::format("the key '{}' has more than 64 bits", shortened(word)));
  if (error != std::errc() || end != digits.data() + digits.size())
    throw UserError(fmt::format("'{}' is no hexadecimal key", shortened(word)));
  return key;
}

TraceEvent::Kind parse_kind(std::string_view word) {
  if (word == "a") return TraceEvent::Kind::kAllocate;
  if (word == "f") return TraceEvent::Kind::kFree;
  if (word == "r") return TraceEvent::Kind::kReallocate;
  throw UserError(fmt::format("'{}' is no event: a, f or r with a tab behind it", shortened(word)));
}

void demand_fields(const Fields& fields, TraceEvent::Kind kind) {
  static constexpr std::array<const char*, 3> kForms = {"a, key and bytes", "f and key", "r, old key, key and bytes"};
  static constexpr std::array<std::size_t, 3> kCounts = {3, 2, 4};
  const auto i = static_cast<std::size_t>(kind);
  if (fields.count == kCounts[i]) return;
  throw UserError(fmt::format("{} field{} where there are {}: {}, with a tab between", fields.count,
                              fields.count == 1 ? "" : "s", kCounts[i], kForms[i]));
}

}  // namespace

std::optional<TraceEvent> AllocationTrace::next() {
  while (lines_.next()) {
    const std::string_view line = lines_.line();
    if (line.empty() || line.front() == '#') continue;
    if (!lines_.has_end()) throw lines_.fault("the line has no end: the trace was cut off");
    try {
      return take_event(line);
    } catch (const UserError& error) {
      throw lines_.fault(error.what());
    }
  }
  return std::nullopt;
}

TraceEvent AllocationTrace::take_event(std::string_view line) {
  const Fields fields = split(line);
  TraceEvent event{.kind = parse_kind(fields.words[0])};
  demand_fields(fields, event.kind);
  if (event.frees()) free(event, fields.words[1]);
  if (event.allocates()) allocate(event, fields.words[fields.count - 2], fields.words[fields.count - 1]);
  return event;
}

void AllocationTrace::free(TraceEvent& event, std::string_view key) {
  event.freed_key = parse_key(key);
  const auto block = live_.find(event.freed_key);
  if (block == live_.end()) {
    throw UserError(
        fmt::format("key {:x} names no live block{}", event.freed_key,
                    event.freed_key == 0 ? " (free(NULL) is no event, realloc(NULL, n) an allocation)" : ""));
  }
  event.freed_bytes = block->second.bytes;
  live_bytes_ -= event.freed_bytes;
  live_.erase(block);
}

void AllocationTrace::allocate(TraceEvent& event, std::string_view key, std::string_view bytes) {
  event.key = parse_key(key);
  event.bytes = parse_number(bytes, kLargestBlock, "size in bytes");
  if (event.bytes > kMostLiveBytes - live_bytes_) throw UserError("more than 2^62 bytes live");
  const auto [block, is_new] = live_.try_emplace(event.key, Block{event.bytes, lines_.number()});
  if (!is_new) {
    throw UserError(
        fmt::format("key {:x} names a live block already, allocated in line {}", event.key, block->second.line));
  }
  live_bytes_ += event.bytes;
}

}  // namespace snug::tool
