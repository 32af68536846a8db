#include "trace_command/event_text.h"

#include <fmt/format.h>

#include "text/printable.h"

namespace snug::tool {

namespace {

// A build-id is bytes, a path is not.
std::string text_value(const trace::Event& event, std::size_t text) {
  const std::string bytes(event.texts[text]);
  if (event.operation != trace::Operation::kModule || text != 0) return printable(bytes);
  std::string digits;
  for (const char byte : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

// The fields of an event with their names, whatever is wanted of them.
template <typename Number, typename Text>
void each_field(const trace::Event& event, Number number, Text text) {
  const trace::OperationTraits& traits = trace::traits_of(event.operation);
  std::size_t values = 0;
  std::size_t texts = 0;
  for (std::size_t i = 0; i < trace::kMostFields && traits.fields[i] != trace::Field::kNone; ++i) {
    const std::string name(traits.field_names[i]);
    switch (traits.fields[i]) {
      case trace::Field::kBlock:
        text(name, event.block == trace::BlockId::kNone ? "null" : block_name(event.block));
        break;
      case trace::Field::kSize:
        number(name, event.size);
        break;
      case trace::Field::kAlignment:
        number(name, event.alignment);
        break;
      case trace::Field::kText:
        text(name, text_value(event, texts));
        ++texts;
        break;
      case trace::Field::kSigned:
        number(name, static_cast<std::int64_t>(event.values[values++]));
        break;
      default:
        number(name, event.values[values++]);
    }
  }
}

}  // namespace

std::string_view measured_by(const trace::Event& event) {
  if (event.operation != trace::Operation::kSample) return {};
  return trace::name_of_measure(event.values[0]);
}

std::string block_name(trace::BlockId block) { return fmt::format("{}:{}", thread_of(block), number_of(block)); }

double seconds_of(std::uint64_t time) { return static_cast<double>(time * trace::kNanosecondsPerStep) * 1e-9; }

std::string event_line(const trace::Event& event) {
  std::string line = fmt::format("{:12.6f} {:>6}{} {:>4}  {}", seconds_of(event.time), event.turn,
                                 event.takes_turn ? '*' : ' ', event.thread, trace::traits_of(event.operation).name);
  each_field(
      event, [&line](const std::string& name, auto value) { line += fmt::format(" {}={}", name, value); },
      [&line](const std::string& name, const std::string& value) { line += fmt::format(" {}={}", name, value); });
  if (const std::string_view measured = measured_by(event); !measured.empty()) line += fmt::format(" ({})", measured);
  if (event.is_refused) line += " refused";
  if (event.result != trace::BlockId::kNone) line += " -> " + block_name(event.result);
  if (event.stack != 0) line += fmt::format(" stack={}", event.stack);
  return line;
}

nlohmann::ordered_json event_json(const trace::Event& event, const std::vector<std::string>& frames) {
  nlohmann::ordered_json json = {{"time_ns", event.time * trace::kNanosecondsPerStep},
                                 {"turn", event.turn},
                                 {"takes_turn", event.takes_turn},
                                 {"thread", event.thread},
                                 {"operation", trace::traits_of(event.operation).name}};
  each_field(
      event, [&json](const std::string& name, auto value) { json[name] = value; },
      [&json](const std::string& name, const std::string& value) { json[name] = value; });
  if (const std::string_view measured = measured_by(event); !measured.empty()) json["measured"] = measured;
  if (event.is_refused) json["refused"] = true;
  if (event.result != trace::BlockId::kNone) json["result"] = block_name(event.result);
  if (event.stack != 0) json["stack"] = event.stack;
  if (!frames.empty()) json["frames"] = frames;
  return json;
}

}  // namespace snug::tool
