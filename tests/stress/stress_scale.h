// How long the stress tests run: the one constant that shrinks them where every access is instrumented.
#pragma once

#include <cstdint>

#include "sanitized.h"

namespace snug::stress {

inline constexpr uint64_t kScaleDivisor = support::kThreadSanitized ? 24 : support::kAddressSanitized ? 6 : 1;

constexpr uint64_t scaled(uint64_t count) { return count / kScaleDivisor + 1; }

inline constexpr unsigned kThreads = 8;

}  // namespace snug::stress
