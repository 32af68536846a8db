#include "allocator/request_sizes.h"

#include "allocator/allocator.h"
#include "base/algorithm.h"
#include "base/bits.h"

namespace snug {

// Twice, as neighbours would otherwise be chosen in a regular pattern, which the program's sizes may have as well.
uint64_t RequestSizes::hash_of(uint64_t number) {
  uint64_t hash = number * 0x9e3779b97f4a7c15;
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15;
}

void RequestSizes::note(size_t size_class, const void* block, size_t size) {
  if (slots_ == nullptr) return;
  const uint64_t number = address_of(block) / kSmallStep;
  const uint64_t hash = hash_of(number);
  Atomic<uint64_t>& slot = slots_[size_class * kSlots + (hash >> (64 - kSlotBits))];
  const uint64_t seen = slot.load(kRelaxed);
  const uint64_t kept = seen >> kSlackBits;
  if (kept != number && kept != 0 && hash_of(kept) < hash) return;
  const size_t block_size = allocator.table->classes[size_class].block_size;
  const uint64_t now = number << kSlackBits | min<uint64_t>(block_size - min(size, block_size), kMostSlack);
  if (now != seen) slot.store(now, kRelaxed);
}

double RequestSizes::mean(size_t size_class) {
  const ClassTable& table = *allocator.table;
  uint64_t blocks = 0;
  uint64_t slack = 0;
  for (size_t i = 0; slots_ != nullptr && i != kSlots; ++i) {
    Atomic<uint64_t>& slot = slots_[size_class * kSlots + i];
    uint64_t seen = slot.load(kRelaxed);
    const uintptr_t address = (seen >> kSlackBits) * kSmallStep;
    BlockView view;
    if (seen == 0) continue;
    if (!allocator.registry.view_block(reinterpret_cast<const void*>(address), view) ||
        view.state != BlockView::State::kOut || view.size_class != size_class || view.start != address) {
      slot.compare_exchange_strong(seen, 0, kRelaxed);
      continue;
    }
    ++blocks;
    slack += seen & kMostSlack;
  }
  const auto longest = static_cast<double>(table.classes[size_class].block_size);
  if (blocks != 0) return longest - static_cast<double>(slack) / static_cast<double>(blocks);
  const double below = size_class == 1 ? 0.0 : static_cast<double>(table.classes[size_class - 1].block_size);
  return (below + 1 + longest) / 2;
}

}  // namespace snug
