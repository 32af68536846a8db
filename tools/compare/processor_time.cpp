#include "compare/processor_time.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace snug::tool {

namespace {

constexpr double kShortest = 1;  // second; a hundred ticks, each 1% of it

double cpu_seconds(int processes) {
  rusage usage{};
  getrusage(processes, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

}  // namespace

// "cpu  user nice system idle iowait irq softirq steal …"; what follows is contained in the first two.
ProcessorTime read_processor_time(std::istream& stat, double ticks_a_second) {
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  if (!(stat >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal) || name != "cpu")
    return {};
  const double taken = user + nice + system + irq + softirq + steal;
  return {.total = (taken + idle + iowait) / ticks_a_second, .taken = taken / ticks_a_second};
}

ProcessorTime processor_time_now() {
  std::ifstream stat("/proc/stat");
  ProcessorTime now = read_processor_time(stat, static_cast<double>(sysconf(_SC_CLK_TCK)));
  now.own = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
  return now;
}

std::optional<double> others_share(const ProcessorTime& before, const ProcessorTime& after) {
  const double total = after.total - before.total;
  if (total < kShortest) return std::nullopt;
  const double others = (after.taken - before.taken) - (after.own - before.own);
  return std::clamp(others / total, 0.0, 1.0);
}

}  // namespace snug::tool
