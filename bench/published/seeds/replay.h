// One replay of a trace on a heap, in three manners that do not disturb each other, each in a process of its own:
//
//   measure_memory  every OS page of every block is written; the heap's memory is looked at after each operation
//   time_steps      rdtsc around each operation; the first word of each block is written in between, untimed
//   time_whole      the clock around all: what an operation costs with the loop and the writing of a word
//
// A verifying replay fills every block with words of its own, and compares them before the free.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

#include "replay_heaps.h"
#include "ticks.h"

namespace seeds {

// Left out of averages and maxima, as in 2009: of allocations and of frees.
constexpr uint64_t kLeftOut = 10;

struct MemoryResult {
  HeapMemory peak;  // at the moment of the largest total, of several that of the most requested
  HeapMemory end;
  uint64_t requested_at_peak = 0;
  uint64_t requested_at_end = 0;
  uint64_t most_requested = 0;
  uint64_t most_not_full = 0;  // at whatever moment
  uint64_t resident = 0;       // growth of the process, its table of slots apart
};

struct OperationTicks {
  uint64_t count = 0;  // all of them
  uint64_t sum = 0;
  uint64_t most = 0;

  void add(uint64_t ticks) {
    if (++count <= kLeftOut) return;
    sum += ticks;
    most = std::max(most, ticks);
  }
  double average() const {
    return count > kLeftOut ? static_cast<double>(sum) / static_cast<double>(count - kLeftOut) : 0;
  }
};

struct TickResult {
  OperationTicks allocations;
  OperationTicks frees;
};

[[noreturn]] inline void out_of_memory(size_t step, size_t bytes) {
  fail("out of memory in step " + std::to_string(step + 1) + ", a block of " + std::to_string(bytes) + " bytes");
}

inline void write_first_word(void* block, size_t bytes) {
  if (bytes >= sizeof(uint64_t)) *static_cast<volatile uint64_t*>(block) = bytes;
}

inline void write_pages(void* block, size_t bytes) {
  constexpr size_t kOsPage = 4096;
  auto* const memory = static_cast<volatile char*>(block);
  for (size_t at = 0; at < bytes; at += kOsPage) memory[at] = 1;
  if (bytes != 0) memory[bytes - 1] = 1;
}

// The word at an offset of the block that was allocated in a step.
inline uint64_t pattern_word(size_t step, size_t at) { return (step + 1) * 0x9e3779b97f4a7c15ull ^ at; }

inline void write_pattern(void* block, size_t bytes, size_t step) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = pattern_word(step, at);
    std::memcpy(static_cast<char*>(block) + at, &word, std::min(sizeof word, bytes - at));
  }
}

inline bool has_pattern(const void* block, size_t bytes, size_t step) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = pattern_word(step, at);
    if (std::memcmp(static_cast<const char*>(block) + at, &word, std::min(sizeof word, bytes - at)) != 0) return false;
  }
  return true;
}

// `bytes_of` is older than the heap, so that it is no growth of what is resident.
template <class Heap>
MemoryResult measure_memory(Heap& heap, const ReplayTrace& trace, size_t steps, const SlotTable<uint32_t>& bytes_of) {
  MemoryResult result;
  uint64_t requested = 0;
  for (size_t step = 0; step < steps; ++step) {
    const auto [slot, bytes] = trace.begin()[step];
    if (bytes == TraceStep::kFrees) {
      heap.free(slot);
      requested -= bytes_of[slot];
    } else {
      if (!heap.allocate(slot, bytes)) out_of_memory(step, bytes);
      write_pages(heap.address(slot), bytes);
      bytes_of[slot] = bytes;
      requested += bytes;
      result.most_requested = std::max(result.most_requested, requested);
    }
    if constexpr (!std::is_same_v<Heap, OnMalloc>) {
      const HeapMemory now = heap.memory();
      result.most_not_full = std::max(result.most_not_full, now.not_full);
      if (now.total > result.peak.total || (now.total == result.peak.total && requested > result.requested_at_peak)) {
        result.peak = now;
        result.requested_at_peak = requested;
      }
    }
  }
  result.end = heap.memory();
  result.requested_at_end = requested;
  if constexpr (std::is_same_v<Heap, OnMalloc>) {
    result.peak = heap.peak();
    result.requested_at_peak = result.most_requested;
  }
  if (const char* const broken = heap.check()) fail(broken);
  return result;
}

template <class Heap>
TickResult time_steps(Heap& heap, const ReplayTrace& trace, size_t steps) {
  const workload::TickClock clock;
  TickResult result;
  for (size_t step = 0; step < steps; ++step) {
    const auto [slot, bytes] = trace.begin()[step];
    if (bytes == TraceStep::kFrees) {
      result.frees.add(clock.time([&heap, slot = slot] { heap.free(slot); }));
      continue;
    }
    bool done = false;
    result.allocations.add(clock.time([&, slot = slot, bytes = bytes] { done = heap.allocate(slot, bytes); }));
    if (!done) out_of_memory(step, bytes);
    write_first_word(heap.address(slot), bytes);
  }
  return result;
}

// Operations a second, in millions.
template <class Heap>
double time_whole(Heap& heap, const ReplayTrace& trace, size_t steps) {
  const double start = workload::now_ns();
  for (size_t step = 0; step < steps; ++step) {
    const auto [slot, bytes] = trace.begin()[step];
    if (bytes == TraceStep::kFrees) {
      heap.free(slot);
      continue;
    }
    if (!heap.allocate(slot, bytes)) out_of_memory(step, bytes);
    write_first_word(heap.address(slot), bytes);
  }
  return static_cast<double>(steps) / (workload::now_ns() - start) * 1e3;
}

// Whether the heap has memory for all of it.
template <class Heap>
bool serves(Heap& heap, const ReplayTrace& trace, size_t steps) {
  for (size_t step = 0; step < steps; ++step) {
    const auto [slot, bytes] = trace.begin()[step];
    if (bytes == TraceStep::kFrees)
      heap.free(slot);
    else if (!heap.allocate(slot, bytes))
      return false;
  }
  return true;
}

inline uint64_t most_requested(const ReplayTrace& trace, size_t steps) {
  const SlotTable<uint32_t> bytes_of(trace.slots());
  uint64_t requested = 0, most = 0;
  for (size_t step = 0; step < steps; ++step) {
    const auto [slot, bytes] = trace.begin()[step];
    requested -= bytes == TraceStep::kFrees ? bytes_of[slot] : 0;
    if (bytes == TraceStep::kFrees) continue;
    bytes_of[slot] = bytes;
    requested += bytes;
    most = std::max(most, requested);
  }
  return most;
}

// The smallest pool that was found to serve the trace, by halving down to 0.5%.
template <class Heap>
uint64_t find_pool(const ReplayTrace& trace, size_t steps) {
  const auto is_enough = [&](uint64_t bytes) { return serves(*std::make_unique<Heap>(trace, bytes), trace, steps); };
  uint64_t few = most_requested(trace, steps);
  uint64_t enough = 2 * few + (1 << 16);
  while (!is_enough(enough)) {
    few = enough;
    enough *= 2;
  }
  while (enough - few > enough / 200) {
    const uint64_t middle = few + (enough - few) / 2;
    (is_enough(middle) ? enough : few) = middle;
  }
  return enough;
}

// Returns the bytes that were compared. Blocks that live at the end are looked at as well.
template <class Heap>
uint64_t verify(Heap& heap, const ReplayTrace& trace, size_t steps) {
  struct Written {
    size_t step;
    uint32_t bytes;
    uint32_t is_live;
  };
  SlotTable<Written> written(trace.slots());
  uint64_t compared = 0;
  const auto compare = [&](size_t slot, const std::string& when) {
    const auto [step, bytes, is_live] = written[slot];
    if (!has_pattern(heap.address(slot), bytes, step))
      fail("the block of " + std::to_string(bytes) + " bytes allocated in step " + std::to_string(step + 1) +
           " was damaged when " + when);
    compared += bytes;
  };
  for (size_t step = 0; step < steps; ++step) {
    const auto [slot, bytes] = trace.begin()[step];
    if (bytes == TraceStep::kFrees) {
      compare(slot, "step " + std::to_string(step + 1) + " freed it");
      heap.free(slot);
      written[slot].is_live = 0;
      continue;
    }
    if (!heap.allocate(slot, bytes)) out_of_memory(step, bytes);
    write_pattern(heap.address(slot), bytes, step);
    written[slot] = {step, bytes, 1};
  }
  for (size_t slot = 0; slot < trace.slots(); ++slot)
    if (written[slot].is_live != 0) compare(slot, "the trace ended");
  if (const char* const broken = heap.check()) fail(broken);
  return compared;
}

}  // namespace seeds
