// Live statistics as text: for people, and for Prometheus.
#pragma once

#include <string>
#include <vector>

#include "live/live_statistics.h"

namespace snug::tool {

std::string statistics_table(const LiveStatistics& statistics, bool with_classes);
// Each figure once, with its help and type, and a line for each process.
std::string prometheus_text(const std::vector<LiveStatistics>& processes);

}  // namespace snug::tool
