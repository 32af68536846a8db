// How long the stress tests run: the one constant that shrinks them where every access is instrumented.
#pragma once

#include <cstdint>

namespace snug::stress {

#if defined(__SANITIZE_THREAD__)
inline constexpr uint64_t kScaleDivisor = 24;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr uint64_t kScaleDivisor = 6;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr uint64_t kScaleDivisor = 24;
#elif __has_feature(address_sanitizer)
inline constexpr uint64_t kScaleDivisor = 6;
#else
inline constexpr uint64_t kScaleDivisor = 1;
#endif
#else
inline constexpr uint64_t kScaleDivisor = 1;
#endif

constexpr uint64_t scaled(uint64_t count) { return count / kScaleDivisor + 1; }

inline constexpr unsigned kThreads = 8;

}  // namespace snug::stress
