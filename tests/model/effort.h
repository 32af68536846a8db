// How much the tests do: less where every memory access is instrumented.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sanitized.h"

namespace snug::model {

using ::support::kSanitized;

// Programs are shorter by this factor, and fewer seeds are run.
inline constexpr size_t kEffortDivisor = kSanitized ? 5 : 1;
inline constexpr uint64_t kLongSeeds = kSanitized ? 2 : 4;

}  // namespace snug::model
