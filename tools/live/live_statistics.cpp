#include "live/live_statistics.h"

#include <stdexcept>

#include "live/live_process.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;

std::map<std::string, std::uint64_t> numbers_of(const Json& object) {
  std::map<std::string, std::uint64_t> numbers;
  for (const auto& [name, value] : object.items())
    if (value.is_number_unsigned()) numbers[name] = value.get<std::uint64_t>();
  return numbers;
}

std::uint64_t number_of(const Json& object, const char* name) { return object.at(name).get<std::uint64_t>(); }

LiveStatistics parse(const std::string& answer) {
  LiveStatistics statistics;
  // A hostile process may nest without end.
  constexpr int kDeepest = 3;
  Json json = Json::parse(answer, [](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) throw std::invalid_argument("too deep");
    return true;
  });
  statistics.program = printable(json.at("program").get<std::string>());
  statistics.figures = numbers_of(json);
  if (json.contains("memory")) statistics.memory = numbers_of(json.at("memory"));
  for (const Json& entry : json.at("classes"))
    statistics.classes.push_back({number_of(entry, "size"), number_of(entry, "live"), number_of(entry, "cached"),
                                  number_of(entry, "bytes_in_slabs")});
  for (const Json& entry : json.at("threads_with_cache"))
    statistics.threads.push_back({number_of(entry, "allocations"), number_of(entry, "refills"),
                                  number_of(entry, "flushes"), number_of(entry, "bytes_cached")});
  statistics.json = std::move(json);
  return statistics;
}

}  // namespace

std::uint64_t LiveStatistics::figure(const std::string& name) const {
  const auto found = figures.find(name);
  return found == figures.end() ? 0 : found->second;
}

LiveStatistics read_statistics(pid_t pid, bool with_memory, std::chrono::seconds patience) {
  const std::string answer = LiveProcess(pid, patience).ask(ControlCommand::kStatistics, with_memory ? "memory" : "");
  try {
    LiveStatistics statistics = parse(answer);
    statistics.pid = pid;
    statistics.json["pid"] = pid;
    return statistics;
  } catch (const std::exception&) {
    throw damaged_answer(pid);
  }
}

}  // namespace snug::tool
