// sanitized.h: whether a sanitizer multiplies the cost of a touch: loops shorten then, what they check stays.
#pragma once

// GCC defines a macro for each, Clang has a feature.
#ifndef __has_feature
#define SNUG_HAS_SANITIZER(name) false
#else
#define SNUG_HAS_SANITIZER(name) __has_feature(name)
#endif

namespace support {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = SNUG_HAS_SANITIZER(address_sanitizer);
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = SNUG_HAS_SANITIZER(thread_sanitizer);
#endif
inline constexpr bool kSanitized = kAddressSanitized || kThreadSanitized;

}  // namespace support

#undef SNUG_HAS_SANITIZER
