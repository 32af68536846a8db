#include "top_command/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "allocator/figures.h"
#include "live/live_process.h"
#include "print/quantity.h"
#include "print/table.h"

namespace snug::tool {

namespace {

constexpr std::size_t kMostClasses = 12;
constexpr std::size_t kMostThreads = 8;
constexpr std::size_t kBar = 30;
constexpr const char* kRates[] = {"allocations", "refills", "flushes", "bytes_purged", "bytes_missed"};

std::string bytes(double amount) { return value_text(amount, kBytes); }
std::string count(double amount) { return value_text(amount, kCount); }

// The text's first lines, each cut.
std::string cut(const std::string& text, std::size_t lines, std::size_t width) {
  std::istringstream all(text);
  std::string result;
  for (std::string line; lines != 0 && std::getline(all, line); --lines) {
    if (display_width(line) > width) line.resize(width);
    result += line + "\n";
  }
  return result;
}

std::string bar(double part) {
  const auto full = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kBar + 0.5);
  return std::string(full, '#') + std::string(kBar - full, '.');
}

}  // namespace

void TopView::add(std::vector<LiveStatistics> processes, std::chrono::steady_clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - looked_at_).count();
  std::map<pid_t, Process> fresh;
  for (LiveStatistics& statistics : processes) {
    Process process{std::move(statistics), 0, {}};
    process.resident = resident_bytes(process.statistics.pid);
    if (const auto before = processes_.find(process.statistics.pid); before != processes_.end() && seconds > 0)
      for (const char* name : kRates)
        process.rates[name] = (static_cast<double>(process.statistics.figure(name)) -
                               static_cast<double>(before->second.statistics.figure(name))) /
                              seconds;
    const pid_t pid = process.statistics.pid;
    fresh.emplace(pid, std::move(process));
  }
  processes_ = std::move(fresh);
  looked_at_ = now;
}

double TopView::rate(const Process& process, const std::string& name) const {
  const auto found = process.rates.find(name);
  return found == process.rates.end() ? 0 : std::max(0.0, found->second);
}

std::string TopView::rate_text(const Process& process, const std::string& name, std::string (*text)(double)) const {
  return process.rates.empty() ? "-" : text(rate(process, name));
}

std::vector<pid_t> TopView::shown() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes_) pids.push_back(pid);
  const auto key = [&](pid_t pid) {
    const Process& process = processes_.at(pid);
    switch (order_) {
      case TopOrder::kMemory:
        return process.resident;
      case TopOrder::kLive:
        return static_cast<double>(process.statistics.figure("bytes_in_use"));
      case TopOrder::kRate:
        return rate(process, "allocations");
      case TopOrder::kNumber:
        break;
    }
    return -static_cast<double>(pid);
  };
  std::sort(pids.begin(), pids.end(),
            [&](pid_t left, pid_t right) { return std::pair(-key(left), left) < std::pair(-key(right), right); });
  return pids;
}

nlohmann::ordered_json TopView::json() const {
  nlohmann::ordered_json look = {{"schema", "snug.top/1"}, {"processes", nlohmann::ordered_json::array()}};
  for (const pid_t pid : shown()) {
    const Process& process = processes_.at(pid);
    nlohmann::ordered_json told = process.statistics.json;
    told["resident_bytes"] = static_cast<std::uint64_t>(process.resident);
    for (const auto& [name, unused] : process.rates) told["a_second"][name] = rate(process, name);
    look["processes"].push_back(std::move(told));
  }
  return look;
}

std::string TopView::list(std::size_t lines, std::size_t width, std::size_t marked) const {
  Table table({"  pid", "RSS", "live", "cached", "free in slabs", "kept", "given back/s", "missed/s", "mallocs/s",
               "threads", "program"});
  std::size_t row = 0;
  for (const pid_t pid : shown()) {
    const Process& process = processes_.at(pid);
    const LiveStatistics& its = process.statistics;
    const auto figure = [&](const char* name) { return static_cast<double>(its.figure(name)); };
    const double in_slabs = figure("bytes_in_use") - figure("bytes_large") + figure("bytes_cached");
    table.add_row({fmt::format("{} {}", row++ == marked ? ">" : " ", pid), bytes(process.resident),
                   bytes(figure("bytes_in_use")), bytes(figure("bytes_cached")),
                   bytes(std::max(0.0, figure("bytes_in_slabs") - in_slabs)), bytes(figure("bytes_retained")),
                   rate_text(process, "bytes_purged", bytes), rate_text(process, "bytes_missed", bytes),
                   rate_text(process, "allocations", count), count(figure("threads")), shortened(its.program)});
  }
  return cut(table.text(), lines, width);
}

std::string TopView::detail(pid_t pid, std::size_t lines, std::size_t width) const {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return fmt::format("process {} has ended, or publishes no more\n", pid);
  const Process& process = found->second;
  const LiveStatistics& its = process.statistics;
  std::string text = fmt::format("process {}, {}: {} in memory, {} mallocs/s, {} given back/s, {} missed/s\n\n", pid,
                                 its.program, bytes(process.resident), rate_text(process, "allocations", count),
                                 rate_text(process, "bytes_purged", bytes), rate_text(process, "bytes_missed", bytes));
  if (const auto rss = its.memory.find("rss"); rss != its.memory.end() && rss->second != 0) {
    Table parts({"of the heap", "in memory", "%", ""}, Table::Align::kLeft);
    for (const MemoryPart& part : kMemoryParts) {
      const auto value = its.memory.find(part.name);
      if (value == its.memory.end() || value->second == 0) continue;
      const double share = static_cast<double>(value->second) / static_cast<double>(rss->second);
      parts.add_row(
          {part.name, bytes(static_cast<double>(value->second)), fmt::format("{:.0f}", 100 * share), bar(share)});
    }
    text += parts.text() + "\n";
  }
  auto classes = its.classes;
  std::sort(classes.begin(), classes.end(),
            [](const LiveClass& left, const LiveClass& right) { return left.bytes_in_slabs > right.bytes_in_slabs; });
  Table table({"size", "live", "cached", "bytes live", "in slabs", "used"});
  for (std::size_t i = 0; i < std::min(classes.size(), kMostClasses); ++i) {
    const LiveClass& c = classes[i];
    const auto live = static_cast<double>(c.live * c.size);
    table.add_row(
        {std::to_string(c.size), count(static_cast<double>(c.live)), count(static_cast<double>(c.cached)), bytes(live),
         bytes(static_cast<double>(c.bytes_in_slabs)),
         fmt::format("{:.0f}%", 100 * live / static_cast<double>(std::max<std::uint64_t>(1, c.bytes_in_slabs)))});
  }
  text += table.text() + "\n";
  auto threads = its.threads;
  std::sort(threads.begin(), threads.end(),
            [](const LiveThread& left, const LiveThread& right) { return left.bytes_cached > right.bytes_cached; });
  Table caches({"threads by cache", "mallocs", "refills", "flushes"});
  for (std::size_t i = 0; i < std::min(threads.size(), kMostThreads); ++i)
    caches.add_row({bytes(static_cast<double>(threads[i].bytes_cached)),
                    count(static_cast<double>(threads[i].allocations)), count(static_cast<double>(threads[i].refills)),
                    count(static_cast<double>(threads[i].flushes))});
  return cut(text + caches.text(), lines, width);
}

}  // namespace snug::tool
