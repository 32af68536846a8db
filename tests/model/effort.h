// How much the tests do: less where every memory access is instrumented.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::model {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// Programs are shorter by this factor, and fewer seeds are run.
inline constexpr size_t kEffortDivisor = kSanitized ? 5 : 1;
inline constexpr uint64_t kLongSeeds = kSanitized ? 2 : 4;

}  // namespace snug::model
