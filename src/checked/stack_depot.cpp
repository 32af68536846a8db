#include "checked/stack_depot.h"

#include "base/algorithm.h"
#include "base/atomic.h"

namespace snug {

void StackDepot::open(MetaArena& arena) {
  words_ = static_cast<uintptr_t*>(arena.allocate(kWords * sizeof(uintptr_t)));
  void* const slots = arena.allocate(kSlots * sizeof(Atomic<uint32_t>));
  if (words_ != nullptr) slots_ = static_cast<Atomic<uint32_t>*>(slots);
}

uint64_t StackDepot::hash_of(const CallStack& stack) {
  uint64_t hash = stack.count;
  for (uint32_t i = 0; i != stack.count; ++i) {
    hash = (hash ^ stack.frames[i]) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

bool StackDepot::holds(uint32_t number, const CallStack& stack) const {
  return words_[number] == stack.count && equal(stack.frames, stack.frames + stack.count, words_ + number + 1);
}

uint32_t StackDepot::write(const CallStack& stack) {
  if (next_.load(kRelaxed) > kWords - CallStack::kMost - 1) return 0;
  const uint32_t number = next_.fetch_add(stack.count + 1, kRelaxed);
  if (number > kWords - CallStack::kMost - 1) return 0;
  words_[number] = stack.count;
  copy_n(stack.frames, stack.count, words_ + number + 1);
  return number;
}

uint32_t StackDepot::keep(const CallStack& stack) {
  if (slots_ == nullptr || stack.count == 0) return 0;
  const uint64_t hash = hash_of(stack);
  uint32_t written = 0;
  for (uint32_t probe = 0; probe != kMostProbes; ++probe) {
    Atomic<uint32_t>& slot = slots_[(hash + probe) % kSlots];
    uint32_t number = slot.load(kAcquire);
    if (number == 0) {
      if (written == 0) written = write(stack);
      if (written == 0) return 0;
      if (slot.compare_exchange_strong(number, written, kAcqRel)) return written;
    }
    if (holds(number, stack)) return number;
  }
  return 0;
}

void StackDepot::read(uint32_t number, CallStack* stack) const {
  stack->count = 0;
  if (slots_ == nullptr || number == 0 || number >= words_used() || words_[number] > CallStack::kMost) return;
  stack->count = static_cast<uint32_t>(words_[number]);
  copy_n(words_ + number + 1, stack->count, stack->frames);
}

}  // namespace snug
