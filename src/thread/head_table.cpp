#include "thread/head_table.h"

#include "base/atomic.h"
#include "base/fatal.h"

namespace snug {

SNUG_USED constinit HotPage hot_page{};
constinit size_t heads_end = 0;
constinit size_t derived_heads_end = 0;
constinit size_t trusted_end = 0;
constinit int32_t head_offsets[kHasPageAddress ? 1 : kHeadSteps] = {};

namespace {

ptrdiff_t offset_of_head(size_t size_class) {
  const void* origin = kHasPageAddress ? thread_pointer() : nullptr;
  if constexpr (!kThreadRelative && !kHasPageAddress) origin = &thread_state;
  const uintptr_t head = address_of(head_of(relative_thread_state(), scaled(size_class)));
  return static_cast<ptrdiff_t>(head - address_of(origin));
}

bool fits_entry(ptrdiff_t offset) { return offset >= INT32_MIN && offset <= INT32_MAX; }

// Calls visit(step from the start, class) for every entry of the table.
template <class Visit>
constexpr void for_each_head_step(const ClassTable& table, Visit visit) {
  size_t step = 0;
  for (size_t c = 1; c < table.count; ++c)
    for (; step < kHeadSteps && step * kSmallStep <= table.classes[c].block_size; ++step) visit(step, c);
}

// True if every step has an entry, of the class that the class table names.
constexpr bool has_every_step(const ClassTable& table) {
  size_t steps = 0;
  bool right = true;
  for_each_head_step(table, [&](size_t step, size_t c) {
    right = right && step == steps && table.class_of(step * kSmallStep) == c;
    ++steps;
  });
  return right && steps == kHeadSteps;
}
static_assert(has_every_step(kRoomyTable) && has_every_step(kDenseTable));

void lead(size_t step, size_t head) {
  int32_t* const offsets = kHasPageAddress ? hot_page.head_offsets : head_offsets;
  store_shared(offsets[step], static_cast<int32_t>(offset_of_head(head)));
}

}  // namespace

void lead_to_trays(const ClassTable& table) {
  for_each_head_step(table, [&](size_t step, size_t c) { lead(step, tray_of(table, c)); });
}

void lead_to_arrays(const ClassTable& table) {
  for_each_head_step(table, [](size_t step, size_t c) { lead(step, c); });
}

bool fill_head_table(const ClassTable& table) {
  // With more than 2 GiB of thread-local storage in front of ours, every request keeps to the slow path.
  if (!fits_entry(offset_of_head(0)) || !fits_entry(offset_of_head(kMaxClasses - 1))) return false;
  lead_to_arrays(table);
  SNUG_ASSERT(table.max_size >= kMediumSizeMax, "every size below needs a class");
  if constexpr (kHasPageAddress) {
    hot_page.state = offset_of_head(0);
    hot_page.allocations = hot_page.state + static_cast<ptrdiff_t>(offsetof(ThreadState, allocations));
    hot_page.derived_allocations = hot_page.allocations;
  }
  return true;
}

// The ends are set last: until then no thread reads an entry.
void open_head_table() {
  AtomicRef<size_t>(heads_end).store(kHeadsEnd, kRelease);
  if constexpr (kHasPageAddress) AtomicRef<size_t>(hot_page.heads_end).store(kHeadsEnd, kRelease);
}

void open_derived_head_table(SizedDelete sized_delete) {
  if (heads_end == 0) return;
  AtomicRef<size_t>(derived_heads_end).store(kHeadsEnd, kRelease);
  if constexpr (kHasPageAddress) AtomicRef<size_t>(hot_page.derived_heads_end).store(kHeadsEnd, kRelease);
  if (sized_delete == SizedDelete::kTrust) AtomicRef<size_t>(trusted_end).store(kHeadsEnd, kRelease);
}

}  // namespace snug
