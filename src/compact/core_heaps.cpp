#include "compact/core_heaps.h"

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/in_place.h"
#include "os/memory.h"
#include "os/process.h"

namespace snug {

bool CoreHeaps::open(size_t cores, size_t slots) {
  count_ = clamp<size_t>(cores, 1, kMostHeaps);
  const size_t most = min(HandleTable::kMostSlots, kMostSlots / bit_ceil(count_));
  if (!map_slots(clamp(bit_ceil(slots), HandleTable::kStep, most))) return false;
  if (void* const record = source_.take_record(count_ * sizeof(Entry)); record != nullptr) {
    heaps_ = static_cast<Entry*>(record);
    for (size_t i = 0; i < count_; ++i) ::new (InPlace{heaps_ + i}) Entry(nullptr);
    if (heap_for(0) != nullptr) return true;
  }
  close();
  return false;
}

// Maps the range of slots. If addresses are few, tries fewer slots, then fewer heaps.
bool CoreHeaps::map_slots(size_t slots) {
  const size_t most = os::reservation_limit(os::address_space_limit());
  for (;;) {
    const size_t bytes = count_ * slots * sizeof(HandleTable::Slot);
    if (bytes <= most) slots_ = static_cast<HandleTable::Slot*>(os::map_read_only(bytes));
    if (slots_ != nullptr) break;
    if (slots > HandleTable::kStep)
      slots /= 2;
    else if (count_ > 1)
      count_ = (count_ + 1) / 2;
    else
      return false;
  }
  slot_shift_ = static_cast<unsigned>(trailing_zeros(slots));
  return true;
}

// Closes the first heap last: it has the readers of all.
void CoreHeaps::close() {
  for (size_t i = heaps_ != nullptr ? count_ : 0; i-- > 0;) {
    CompactFit* const heap = at_index(i);
    if (heap == nullptr) continue;
    heap->close();
    source_.give_record(heap, sizeof(CompactFit));
  }
  if (heaps_ != nullptr) source_.give_record(heaps_, count_ * sizeof(Entry));
  os::release(slots_, slot_limit() * sizeof(HandleTable::Slot));
}

CompactFit* CoreHeaps::add(size_t index) {
  const OptionalLockGuard guard(lock_);
  if (CompactFit* const heap = at_index(index); heap != nullptr) return heap;  // another thread has added it
  void* const record = source_.take_record(sizeof(CompactFit));
  if (record == nullptr) return nullptr;
  CompactFit::Readers* const readers = index == 0 ? nullptr : &first().readers();
  auto* const heap = ::new (InPlace{record}) CompactFit(map_, source_, salt_, Sharing::kCores, readers);
  // The table is opened last, as that needs system calls: if memory is short, each allocation comes here.
  if (set_up(*heap) && heap->handles().open(slots_, index << slot_shift_, size_t{1} << slot_shift_)) {
    heaps_[index].store(heap, kRelease);
    return heap;
  }
  heap->close();
  source_.give_record(record, sizeof(CompactFit));
  return nullptr;
}

// Gives a new heap the settings of the others.
bool CoreHeaps::set_up(CompactFit& heap) const {
  heap.set_increment(increment_);
  heap.set_bound(bound_);
  for (size_t i = 0; i < map_.count(); ++i)
    if (bounds_of_[i] != kUnset && !heap.set_bound_of(map_[i].block, bounds_of_[i])) return false;
  return true;
}

// Heaps are added under the same lock: a heap either exists already and is set here, or is set in set_up(). And if two
// threads set a bound at once all heaps get the later one.
void CoreHeaps::set_bound(size_t bound) {
  const OptionalLockGuard guard(lock_);
  bound_ = bound;
  fill_all(bounds_of_, kUnset);
  for_each([&](CompactFit& heap) { heap.set_bound(bound); });
}

bool CoreHeaps::set_bound_of(size_t bytes, size_t bound) {
  if (bytes > map_.largest()) return true;  // such blocks do not move
  const OptionalLockGuard guard(lock_);
  bounds_of_[map_.class_of(bytes)] = bound;
  bool are_told = true;
  for_each([&](CompactFit& heap) { are_told = heap.set_bound_of(bytes, bound) && are_told; });
  return are_told;
}

void CoreHeaps::set_increment(size_t bytes) {
  const OptionalLockGuard guard(lock_);
  increment_ = bytes;
  for_each([&](CompactFit& heap) { heap.set_increment(bytes); });
}

// Each step begins with the heap at which the one before ran out of its budget.
bool CoreHeaps::step(CompactBudget& budget) {
  bool is_left = false;
  size_t index = next_.load(kRelaxed) % count_;
  for (size_t left = count_; left != 0; --left) {
    if (CompactFit* const heap = at_index(index); heap != nullptr && heap->step(budget)) is_left = true;
    if (is_left && budget.is_used_up()) break;
    index = (index + 1) % count_;
    next_.store(index, kRelaxed);
  }
  return is_left;
}

size_t CoreHeaps::give_back(size_t rows) {
  size_t given = 0;
  for_each([&](CompactFit& heap) { given += heap.give_back(rows - given); });
  return given;
}

CompactFit::Totals CoreHeaps::totals() const {
  CompactFit::Totals all;
  for_each([&](const CompactFit& heap) {
    all.add(heap.totals());
    all.pages.bytes_records += sizeof(CompactFit);
  });
  all.pages.bytes_records += count_ * sizeof(Entry);
  return all;
}

size_t CoreHeaps::totals_of(size_t bytes, CompactFit::Totals& totals) const {
  size_t block = 0;
  for_each([&](const CompactFit& heap) { block = heap.totals_of(bytes, totals); });
  return block;
}

const char* CoreHeaps::check() const {
  for (size_t i = 0; i < count_; ++i) {
    const CompactFit* const heap = at_index(i);
    if (heap == nullptr) continue;
    if (heap->handles().slots() != slots_ + (i << slot_shift_))
      return "compact heap: a core's handles lie in another's part";
    if (const char* const broken = heap->check(); broken != nullptr) return broken;
  }
  return nullptr;
}

}  // namespace snug
