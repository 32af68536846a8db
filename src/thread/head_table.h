// HeadTable: from the size of a request to the head of its class, in one load. A head lies at the same offset from the
// thread pointer in every thread (elsewhere, from the thread's state), so that neither the class nor the state's
// address is computed on the way.
//
//   head_offsets:   step    -4097   -4096   …      -1
//                   sizes       0   1-16    …   65521-65536
//
// Steps are counted back from the end: subtracting that from the size tells whether the table has it, and shifting what
// is left rounds the size up to its step. One table serves every size that it has: a branch
// between small sizes and others is one that a program of mixed sizes mispredicts (docs/decisions/0018).
//
// The ends are 0 until open_head_table(): every request takes a slow path until then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/compiler.h"
#include "size/class_list.h"
#include "size/class_table.h"
#include "thread/thread_state.h"

namespace snug {

// Negative, as above.
using HeadStep = ptrdiff_t;

inline constexpr size_t kHeadSteps = kMediumSizeMax / kSmallStep + 1;
inline constexpr size_t kHeadsEnd = kMediumSizeMax + 1;
static_assert(kHeadsEnd % kSmallStep == 1, "the difference of a size and the end would not round up");

// Variables of their own, because a member of a larger object costs a pointer to it: one instruction on each call.
SNUG_HIDDEN extern constinit size_t heads_end;    // kHeadsEnd: sizes below are in the table
SNUG_HIDDEN extern constinit size_t trusted_end;  // sizes below are trusted by a sized delete
SNUG_HIDDEN extern constinit int32_t head_offsets[kHeadSteps];

// Subtracts one of both ends; true if the number was less. Another thread may be opening the table: the end is written
// last and read first, which x86 keeps to, and only a plain access is folded into the subtraction. Where accesses are
// watched the order is told.
SNUG_ALWAYS_INLINE bool subtract_end(size_t* number, size_t& end) {
  if constexpr (kSanitized) {
    const size_t seen = std::atomic_ref<size_t>(end).load(std::memory_order_acquire);
    return subtract_borrows(number, seen);
  } else {
    return subtract_borrows(number, end);
  }
}

// What a sized delete does with the size that it is told.
enum class SizedDelete { kTrust, kCheck };

// Fills the table. Called once, before any block is handed out.
void open_head_table(const ClassTable& table, SizedDelete sized_delete);

// `beyond` is a size of the table less its end.
SNUG_ALWAYS_INLINE HeadStep step_at_distance(size_t beyond) {
  return static_cast<ptrdiff_t>(beyond) >> log2_floor(kSmallStep);  // downwards
}

SNUG_ALWAYS_INLINE CacheHead* head_of(HeadStep step) {
  const ptrdiff_t offset = (head_offsets + kHeadSteps)[step];
  if constexpr (kThreadRelative)
    return reinterpret_cast<CacheHead*>(offset);
  else
    return reinterpret_cast<CacheHead*>(reinterpret_cast<char*>(&thread_state) + offset);
}

// The largest size of the step.
constexpr size_t size_of_step(HeadStep step) { return (static_cast<size_t>(step) + kHeadSteps) * kSmallStep; }
static_assert(size_of_step(-1) == kMediumSizeMax && size_of_step(-HeadStep{kHeadSteps}) == 0);

// The size whose distance `beyond` is, if the table does not have it. Between the two looks at the end another thread
// may have opened the table: the sum is then larger than the size by the table, and must not wrap. Its block may be too
// large for a sized delete to file it rightly, so a process that opens the table with several threads trusts none.
inline size_t size_at_distance(size_t beyond) {
  size_t size;
  const size_t end = kSanitized ? std::atomic_ref<size_t>(heads_end).load(std::memory_order_relaxed) : heads_end;
  return add_overflows(beyond, end, &size) ? SIZE_MAX : size;
}

}  // namespace snug
