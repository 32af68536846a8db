// HeadTable: from the size of a request to the head of its class, in one load. A head lies at the same offset from the
// thread pointer in every thread (on the portable path, from the thread's state), so that neither the class nor the
// state's address is computed on the way.
//
//   head_offsets:   step    -4097   -4096   …      -1
//                   sizes       0   1-16    …   65521-65536
//
// Steps are counted back from the end: subtracting the end from the size tells whether the table has the size, and
// shifting the difference rounds the size up to its step. One table serves small and medium sizes, as a program of
// mixed sizes mispredicts a branch between the two (docs/decisions/0018).
//
// The ends are 0 until open_head_table(): every request takes a slow path until then.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "size/class_list.h"
#include "size/class_table.h"
#include "thread/hot_page.h"
#include "thread/thread_state.h"

namespace snug {

// A step of the table, negative, as above.
using HeadStep = ptrdiff_t;

inline constexpr size_t kHeadsEnd = kMediumSizeMax + 1;
static_assert(kHeadsEnd % kSmallStep == 1, "the difference of a size and the end would not round up");

// Separate variables: a member of a larger object would cost a pointer to that, one instruction on each call.
SNUG_HIDDEN extern constinit size_t heads_end;          // kHeadsEnd: sizes below are in the table
SNUG_HIDDEN extern constinit size_t derived_heads_end;  // the same for PathOf::kDerivedOperator
SNUG_HIDDEN extern constinit size_t trusted_end;        // sizes below are trusted by a sized delete
SNUG_HIDDEN extern constinit int32_t head_offsets[kHasPageAddress ? 1 : kHeadSteps];  // or in the hot page

template <PathOf path>
SNUG_ALWAYS_INLINE size_t& heads_end_of() {
  return path == PathOf::kFunction ? heads_end : derived_heads_end;
}

// Subtracts `end`, one of the ends; true if the number was less. Another thread may be opening the table: the end
// is written last and read first, an order that x86 keeps, and the compiler folds only a plain access into the
// subtraction. On other processors a thread may read the end before the entry: entry 0 leads to class 0 there, which is
// empty. Under a sanitizer the load is an acquire.
SNUG_ALWAYS_INLINE bool subtract_end(size_t* number, size_t& end) {
  if constexpr (kSanitized) {
    const size_t seen = AtomicRef<size_t>(end).load(kAcquire);
    return subtract_borrows(number, seen);
  } else {
    return subtract_borrows(number, end);
  }
}

// What a sized delete does with the size that the program passes.
enum class SizedDelete { kTrust, kCheck };

// Fills the table; false if it cannot, and every request keeps to the slow path. Called once, before any block is
// handed out.
bool fill_head_table(const ClassTable& table);
// Lets requests into the table when it has been filled; and those of the derived operators, if others are let in
// already.
void open_head_table();
void open_derived_head_table(SizedDelete sized_delete);

// While the heap profile runs, malloc takes small blocks from a *tray* (thread/trays.h) and free still puts them on the
// class's array, so that a tray runs dry after a known number of blocks. The head of a tray is one that the class table
// leaves unused: no thread's state grows for it. 0, the head of no class, which is always empty, where none is left.
constexpr size_t tray_of(const ClassTable& table, size_t size_class) {
  const size_t head = table.count - 1 + size_class;
  return head < kMaxClasses ? head : 0;
}
static_assert(tray_of(kRoomyTable, kRoomyTable.class_of(4096)) != 0);

// Leads malloc to trays, and back to the arrays. Other threads may be in a malloc: each finds one or the other. Sizes
// are not trusted (trusted_end is 0). One thread at a time calls these.
void lead_to_trays(const ClassTable& table);
void lead_to_arrays(const ClassTable& table);

// `beyond` is a size of the table less its end.
SNUG_ALWAYS_INLINE HeadStep step_at_distance(size_t beyond) {
  return static_cast<ptrdiff_t>(beyond) >> log2_floor(kSmallStep);  // downwards
}

SNUG_ALWAYS_INLINE CacheHead* head_of(HeadStep step) {
  if constexpr (kThreadRelative) {
    const ptrdiff_t offset = (head_offsets + kHeadSteps)[step];
    return reinterpret_cast<CacheHead*>(offset);
  } else if constexpr (kHasPageAddress) {
    return reinterpret_cast<CacheHead*>(thread_pointer() + HotWords().head_offset(step));
  } else {
    // The end's address as one: an access may take an index, but no offset beside it.
    const ptrdiff_t offset = load_shared(at<const int32_t>(opaque(address_of(head_offsets + kHeadSteps)))[step]);
    return reinterpret_cast<CacheHead*>(reinterpret_cast<char*>(&thread_state) + offset);
  }
}

// The largest size of the step.
constexpr size_t size_of_step(HeadStep step) { return (static_cast<size_t>(step) + kHeadSteps) * kSmallStep; }
static_assert(size_of_step(-1) == kMediumSizeMax && size_of_step(-HeadStep{kHeadSteps}) == 0);

// The size at distance `beyond` from the end, if the table does not have it. Between the two reads of the end another
// thread may have opened the table: the sum is then too large by the table's end, and must not wrap. The block may then
// be of a class above its size's, which a sized delete would file wrongly, so a process that has several threads when
// the table is opened trusts no sized delete.
template <PathOf path = PathOf::kFunction>
size_t size_at_distance(size_t beyond) {
  size_t size;
  size_t& shared = heads_end_of<path>();
  const size_t end = kSanitized ? AtomicRef<size_t>(shared).load(kRelaxed) : shared;
  return add_overflows(beyond, end, &size) ? SIZE_MAX : size;
}

}  // namespace snug
