#include "span/large_index.h"

#include "base/algorithm.h"
#include "base/bits.h"
#include "os/memory.h"

namespace snug {

// While one lives, readers without the lock wait for nothing, but learn nothing. Each word of a change is stored with
// release, behind the odd number: a reader that acquires the word sees that number.
class LargeIndex::Change {
 public:
  explicit Change(LargeIndex& index) : changes_(index.changes_) { step(kRelaxed); }
  ~Change() { step(kRelease); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  void step(MemoryOrder order) { changes_.store(changes_.load(kRelaxed) + 1, order); }

  Atomic<uint32_t>& changes_;
};

bool LargeIndex::promise() {
  if ((count_ + promised_) * 2 >= table().capacity) return false;
  ++promised_;
  return true;
}

bool LargeIndex::promise_last() {
  if (count_ + promised_ + 1 >= table().capacity) return false;
  ++promised_;
  return true;
}

LargeIndex::Table LargeIndex::longer() const {
  const size_t capacity = table().capacity;
  return {nullptr, capacity == 0 ? os::page_size() / sizeof(Slot) : capacity * 2};
}

LargeIndex::Table LargeIndex::move_to(Table fresh) {
  const Table old = table();
  if (fresh.capacity <= old.capacity) return fresh;
  for (size_t i = 0; i < old.capacity; ++i)
    if (MappedBlock* const block = old.slots[i].block.load(kRelaxed); block != nullptr) put(fresh, block);
  const Change change(*this);
  table_.store(address_of(fresh.slots) | static_cast<uintptr_t>(trailing_zeros(fresh.capacity)), kRelease);
  return old;
}

void LargeIndex::insert(MappedBlock* block) {
  --promised_;
  ++count_;
  const Change change(*this);
  put(table(), block);
}

void LargeIndex::set(Slot& slot, uintptr_t start, MappedBlock* block) {
  slot.block.store(block, kRelease);
  slot.start.store(start, kRelease);
}

void LargeIndex::put(const Table& table, MappedBlock* block) {
  size_t i = home(table, block->start);
  while (table.slots[i].start.load(kRelaxed) != 0) i = (i + 1) & (table.capacity - 1);
  set(table.slots[i], block->start, block);
}

void LargeIndex::erase(MappedBlock* block) {
  const Table table = this->table();
  const size_t mask = table.capacity - 1;
  size_t hole = home(table, block->start);
  while (table.slots[hole].block.load(kRelaxed) != block) hole = (hole + 1) & mask;
  const Change change(*this);
  for (size_t i = (hole + 1) & mask;; i = (i + 1) & mask) {
    const uintptr_t start = table.slots[i].start.load(kRelaxed);
    if (start == 0) break;
    // The entry may move back into the hole unless its home lies behind the hole.
    if (((i - home(table, start)) & mask) >= ((i - hole) & mask)) {
      set(table.slots[hole], start, table.slots[i].block.load(kRelaxed));
      hole = i;
    }
  }
  set(table.slots[hole], 0, nullptr);
  --count_;
}

}  // namespace snug
