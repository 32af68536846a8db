#include "checked/quarantine.h"

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/in_place.h"

namespace snug {

void Quarantine::open(size_t limit, MetaArena& arena) {
  most_in_batch_ = limit / kBatchShare;
  most_in_ring_ = limit - kBatches * most_in_batch_;
  capacity_ = bit_ceil(most_in_ring_ / kLeastWeight + 1);
  ring_ = static_cast<Rested*>(arena.allocate(capacity_ * sizeof(Rested)));
  void* const batches = arena.allocate(kBatches * sizeof(Batch));
  if (ring_ == nullptr || batches == nullptr) return;
  batches_ = static_cast<Batch*>(batches);
  for (size_t i = 0; i != kBatches; ++i) ::new (InPlace{batches_ + i}) Batch;
  limit_ = limit;
}

// Tests again whether the block fills the batch: another thread may have handed the batch over meanwhile.
size_t Quarantine::admit_last(uintptr_t thread, const Rested& rested, Rested* leaving) {
  Batch& batch = batch_of(thread);
  LockGuard guard(batch.lock);
  const bool is_filled = is_filled_by(rested, batch);
  add(rested, batch);
  return is_filled ? hand_over(batch, leaving) : 0;
}

// Takes blocks out first, so that the ring has places for the batch: a block weighs at least kLeastWeight bytes.
size_t Quarantine::hand_over(Batch& batch, Rested* leaving) {
  LockGuard guard(lock_);
  const size_t taken = take(most_in_ring_ - batch.bytes, leaving);
  const size_t end = first_ + count_;
  for (uint32_t i = 0; i != batch.count; ++i) ring_[(end + i) & (capacity_ - 1)] = batch.blocks[i];
  count_ += batch.count;
  bytes_ += batch.bytes;
  batch.count = 0;
  batch.bytes = 0;
  return taken;
}

size_t Quarantine::fetch(Rested* leaving) {
  LockGuard guard(lock_);
  return take(most_in_ring_, leaving);
}

size_t Quarantine::fetch_all(Rested* leaving) {
  if (limit_ == 0) return 0;
  {
    LockGuard guard(lock_);
    if (const size_t taken = take(0, leaving); taken != 0) return taken;
  }
  for (size_t i = 0; i != kBatches; ++i) {
    LockGuard guard(batches_[i].lock);
    if (const size_t taken = take_batch(batches_[i], leaving); taken != 0) return taken;
  }
  return 0;
}

size_t Quarantine::fetch_any(Rested* leaving) {
  if (limit_ == 0) return 0;
  if (lock_.try_lock()) {
    const size_t taken = take(0, leaving);
    lock_.unlock();
    if (taken != 0) return taken;
  }
  for (size_t i = 0; i != kBatches; ++i)
    if (const size_t taken = take_any(batches_[i], leaving); taken != 0) return taken;
  return 0;
}

bool Quarantine::holds(const void* block) {
  if (limit_ == 0) return false;
  for (size_t i = 0; i != kBatches; ++i) {
    Batch& batch = batches_[i];
    LockGuard guard(batch.lock);
    for (uint32_t k = 0; k != batch.count; ++k)
      if (batch.blocks[k].block == block) return true;
  }
  LockGuard guard(lock_);
  for (size_t k = 0; k != count_; ++k)
    if (ring_[(first_ + k) & (capacity_ - 1)].block == block) return true;
  return false;
}

size_t Quarantine::take_any(Batch& batch, Rested* leaving) {
  if (!batch.lock.try_lock()) return 0;
  const size_t taken = take_batch(batch, leaving);
  batch.lock.unlock();
  return taken;
}

size_t Quarantine::take_batch(Batch& batch, Rested* leaving) {
  const size_t taken = batch.count;
  copy_n(batch.blocks, taken, leaving);
  batch.count = 0;
  batch.bytes = 0;
  return taken;
}

size_t Quarantine::take(size_t limit, Rested* leaving) {
  size_t taken = 0;
  size_t bytes = bytes_;
  for (; taken != kMostAtOnce && bytes > limit; ++taken) {
    leaving[taken] = ring_[(first_ + taken) & (capacity_ - 1)];
    bytes -= weight(leaving[taken]);
  }
  first_ += taken;
  count_ -= taken;
  bytes_ = bytes;
  return taken;
}

void Quarantine::lock_for_fork() {
  for (size_t i = 0; batches_ != nullptr && i != kBatches; ++i) batches_[i].lock.lock_for_fork();
  lock_.lock_for_fork();
}

void Quarantine::unlock_after_fork() {
  lock_.unlock_after_fork();
  for (size_t i = 0; batches_ != nullptr && i != kBatches; ++i) batches_[i].lock.unlock_after_fork();
}

}  // namespace snug
