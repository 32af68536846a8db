// asked_now.h: what snug's functions say of the process at this moment, as values.
#pragma once

#include <snug/limits.h>
#include <snug/snug.h>

#include <cstdlib>

namespace support {

inline snug_stats stats_now() {
  snug_stats stats{};
  if (snug_get_stats(&stats) != 0) std::abort();
  return stats;
}

inline snug_limits limits_now() {
  snug_limits limits{};
  limits.size = sizeof limits;
  if (snug_get_limits(&limits) != 0) std::abort();
  return limits;
}

}  // namespace support
