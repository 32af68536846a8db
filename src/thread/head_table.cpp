#include "thread/head_table.h"

#include <atomic>

namespace snug {

constinit size_t small_limit = 0;
constinit size_t sized_limit = 0;
constinit size_t medium_limit = 0;
constinit int32_t small_heads[kSmallSizeMax + 1] = {};
constinit int32_t medium_heads[kMediumSizeMax / kMediumStep + 1] = {};

namespace {

constexpr bool has_medium_steps(const ClassTable& table) {
  for (size_t c = 1; c < table.count; ++c) {
    const size_t size = table.classes[c].block_size;
    if (size > kSmallSizeMax && size <= kMediumSizeMax && size % kMediumStep != 0) return false;
  }
  return table.max_size >= kMediumSizeMax;
}
static_assert(has_medium_steps(kRoomyTable) && has_medium_steps(kDenseTable));

int32_t offset_of_head(size_t size_class) {
  const ThreadState* origin = kThreadRelative ? nullptr : &thread_state;
  const uintptr_t head = address_of(head_of(relative_thread_state(), scaled(size_class)));
  return static_cast<int32_t>(head - address_of(origin));
}

}  // namespace

void open_head_table(const ClassTable& table, SizedDelete sized_delete) {
  for (size_t size = 0; size <= kSmallSizeMax; ++size) small_heads[size] = offset_of_head(table.class_of(size));
  for (size_t size = kSmallSizeMax; size <= kMediumSizeMax; size += kMediumStep)
    medium_heads[size / kMediumStep] = offset_of_head(table.class_of(size));
  // The limits last: until they are set no entry is looked at.
  std::atomic_signal_fence(std::memory_order_release);
  small_limit = kSmallSizeMax + 1;
  sized_limit = sized_delete == SizedDelete::kTrust ? small_limit : 0;
  medium_limit = kMediumSizeMax + 1;
}

}  // namespace snug
