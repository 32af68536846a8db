// TopView: what `snug top` shows: a row for each process, or of one process the parts of its memory, its classes and
// its threads. Rates are those between two looks.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "live/live_statistics.h"

namespace snug::tool {

enum class TopOrder { kMemory, kLive, kRate, kNumber };

class TopView {
 public:
  // Takes in one more look. Processes that are in it no more are forgotten.
  void add(std::vector<LiveStatistics> processes, std::chrono::steady_clock::time_point now);
  void set_order(TopOrder order) { order_ = order; }

  // The processes in the order in which they are shown.
  std::vector<pid_t> shown() const;
  // At most so many lines of at most so many characters. `marked`: the row that keys are about.
  std::string list(std::size_t lines, std::size_t width, std::size_t marked) const;
  std::string detail(pid_t pid, std::size_t lines, std::size_t width) const;
  // The whole look (snug.top/1), in the order in which processes are shown.
  nlohmann::ordered_json json() const;

 private:
  struct Process {
    LiveStatistics statistics;
    double resident = 0;                  // bytes
    std::map<std::string, double> rates;  // of figures that only grow, a second; none at the first look
  };
  double rate(const Process& process, const std::string& name) const;
  // "-" at the first look.
  std::string rate_text(const Process& process, const std::string& name, std::string (*text)(double)) const;

  std::map<pid_t, Process> processes_;
  std::chrono::steady_clock::time_point looked_at_;
  TopOrder order_ = TopOrder::kMemory;
};

}  // namespace snug::tool
