#include "trace_command/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "print/say.h"

namespace snug::tool {

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr int kFirstWithMap = 12;  // of Python 3

// Anybody may lay a file there: it is to be this user's, and no link.
bool is_of_process(const std::string& path, std::uint64_t from, std::uint64_t until) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return false;
  const auto written =
      static_cast<std::uint64_t>(status.st_mtim.tv_sec) * kSecond + static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return written + kSecond >= from && written <= until + kSecond;
}

// The number in base 16 at the beginning of the text, and a blank, which go. Nothing if there is none.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc{} || behind == text.data() + text.size() || *behind != ' ') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(behind - text.data()) + 1);
  return number;
}

// The Y of Python 3.Y, as the file's name has it ("libpython3.11.so.1.0", "python3.12"); 0 if it has none.
int minor_version(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const std::size_t at = name.find("python3.");
  int minor = 0;
  if (at != std::string_view::npos) std::from_chars(name.data() + at + 8, name.data() + name.size(), minor);
  return minor;
}

}  // namespace

bool is_python(const CallModule& module) {
  const std::string_view name = std::string_view(module.path).substr(module.path.rfind('/') + 1);
  return name.starts_with("libpython3") || name.starts_with("python3");
}

PerfMap::PerfMap(std::uint64_t process, std::uint64_t from, std::uint64_t until) {
  const std::string path = fmt::format("/tmp/perf-{}.map", process);
  if (!is_of_process(path, from, until)) return;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string_view rest = line;
    const std::optional<std::uint64_t> start = take_number(rest);
    const std::optional<std::uint64_t> bytes = start ? take_number(rest) : std::nullopt;
    if (bytes && *bytes != 0 && *bytes <= UINT64_MAX - *start && !rest.empty()) add(*start, *bytes, std::string(rest));
  }
}

void PerfMap::add(std::uint64_t start, std::uint64_t bytes, std::string name) {
  const std::uint64_t end = start + bytes;
  auto at = functions_.lower_bound(start);
  if (at != functions_.begin() && std::prev(at)->second.end > start) --at;
  while (at != functions_.end() && at->first < end) at = functions_.erase(at);
  functions_.insert_or_assign(start, Function{end, std::move(name)});
}

const std::string* PerfMap::name_at(std::uint64_t address) const {
  auto behind = functions_.upper_bound(address);
  if (behind == functions_.begin()) return nullptr;
  const Function& function = std::prev(behind)->second;
  return address < function.end ? &function.name : nullptr;
}

PerfMap perf_map_of(const TraceInput& input, const CallStacks& stacks, std::uint64_t duration) {
  const std::uint64_t began = input.process().started;
  PerfMap map(input.process().process, began, began + duration * trace::kNanosecondsPerStep);
  const auto python =
      std::ranges::find_if(stacks.modules(), [](const auto& module) { return is_python(module.second); });
  if (!map.is_empty() || python == stacks.modules().end()) return map;
  const int minor = minor_version(python->second.path);
  const std::string why = minor != 0 && minor < kFirstWithMap
                              ? fmt::format("Python 3.{} cannot tell them, 3.12 or later can", minor)
                              : "Python 3.12 or later tells them if it runs with PYTHONPERFSUPPORT=1";
  say("snug: functions of Python have no names here: {}\n", why);
  return map;
}

}  // namespace snug::tool
