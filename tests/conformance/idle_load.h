// What a program of idle.cc fills the heap with, and how much of it the OS still holds.
#pragma once

#include "proc_file.h"
#include "subject.h"
#include "threads.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace idle_load {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSmallBytes = (subject::kSanitized ? 32 : 256) * kMiB;
constexpr std::size_t kLargeBytes = (subject::kSanitized ? 16 : 128) * kMiB;
constexpr std::size_t kLargeBlock = 4 * kMiB;
constexpr std::size_t kSizes[] = {64, 100, 480, 2000, 9000};

struct Load {
  void** small;
  void* large[kLargeBytes / kLargeBlock];
  std::size_t small_count;
};
// In memory of its own, which is there before and after.
inline void* places[kSmallBytes / 1000];
inline Load load{places, {}, 0};

inline snug_stats stats() {
  snug_stats stats{};
  subject::take_stats(stats);
  return stats;
}

inline std::size_t memory_held() {
  if (!subject::kSanitized) return static_cast<std::size_t>(number_in("/proc/self/smaps_rollup", "Rss:")) * 1024;
  const snug_stats now = stats();
  return now.bytes_in_use + now.bytes_cached + now.bytes_retained;
}

inline void* made(std::size_t size) {
  void* block = subject::malloc(size);
  if (block == nullptr) std::abort();
  std::memset(block, 1, size);
  return block;
}

inline std::size_t fill() {
  std::size_t bytes = 0;
  load.small_count = 0;
  while (bytes < kSmallBytes && load.small_count < sizeof places / sizeof *places) {
    const std::size_t size = kSizes[load.small_count % 5];
    load.small[load.small_count++] = made(size);
    bytes += size;
  }
  for (void*& block : load.large) block = made(kLargeBlock);
  return memory_held();
}

inline void empty() {
  for (std::size_t i = 0; i < load.small_count; ++i) subject::free(load.small[i]);
  for (void* block : load.large) subject::free(block);
}

inline bool is_below(std::size_t held, std::size_t peak, std::size_t percent) {
  std::printf("%d: %zu KiB of %zu KiB are left, %.1f%%\n", getpid(), held / 1024, peak / 1024,
              100.0 * static_cast<double>(held) / static_cast<double>(peak));
  return held * 100 < peak * percent;
}

inline bool expect_below(std::size_t peak, std::size_t percent) { return is_below(memory_held(), peak, percent); }

// Whether so little is left some day. One look decides: between two, what purges may itself touch a page.
inline bool comes_below(std::size_t peak, std::size_t percent) {
  std::size_t held = 0;
  comes_true([&] { return (held = memory_held()) * 100 < peak * percent; });
  return is_below(held, peak, percent);
}

}  // namespace idle_load
