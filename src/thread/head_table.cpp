#include "thread/head_table.h"

#include <atomic>

namespace snug {

constinit size_t heads_end = 0;
constinit size_t trusted_end = 0;
constinit int32_t head_offsets[kHeadSteps] = {};

namespace {

int32_t offset_of_head(size_t size_class) {
  const ThreadState* origin = kThreadRelative ? nullptr : &thread_state;
  const uintptr_t head = address_of(head_of(relative_thread_state(), scaled(size_class)));
  return static_cast<int32_t>(head - address_of(origin));
}

}  // namespace

void open_head_table(const ClassTable& table, SizedDelete sized_delete) {
  size_t step = 0;
  for (size_t c = 1; c < table.count; ++c) {
    const int32_t offset = offset_of_head(c);
    for (; step < kHeadSteps && step * kSmallStep <= table.classes[c].block_size; ++step) head_offsets[step] = offset;
  }
  // The ends last: until they are set no entry is looked at.
  std::atomic_signal_fence(std::memory_order_release);
  heads_end = kHeadsEnd;
  trusted_end = sized_delete == SizedDelete::kTrust ? kHeadsEnd : 0;
}

}  // namespace snug
