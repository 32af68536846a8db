// What a thread's array of free blocks goes through while another thread takes from it, as it ships: the thread pops
// and pushes without a lock, the holder of the heap's lock raises the base. Each block ends up with one of them, as it
// was freed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "array_words.h"
#include "base/atomic.h"
#include "proof.h"
#include "scheduled_atomics.h"
#include "thread/array_ends.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

class Cache {
 public:
  static constexpr uint32_t kFirst = 2, kBlocks = 3;  // numbers of places; 0 would hide a wrong sign

  Cache() {
    for (uint32_t i = 0; i < kBlocks; ++i) places_[i].store(i + 1, kRelaxed);
    words_.top.store(kFirst + kBlocks, kRelaxed);
  }

  // The owner: as pop() and push() in thread_state.h, and ThreadCache::lower_bases().
  void pop() {
    OwnWords words{words_};
    const uint32_t block = take_newest<OwnWords&>(words) ? entry(words.seen_top).load(kRelaxed) : pop_slowly();
    if (block == 0) return;
    own(block, 1);
    popped_ = block;
  }
  // The block that was popped last.
  void push() {
    if (popped_ == 0) return;
    own(popped_, 0);
    const uint32_t top = words_.top.load(kRelaxed);
    entry(top).store(popped_, kRelaxed);
    OwnWords{words_}.count_up();
    popped_ = 0;
  }

  // Another thread: as CacheRevocation, ThreadCache::raise_bases() and take_raised().
  void reach() {
    lock();
    const uint32_t raised = raise_base(OthersWords{words_});
    pending_ = raised;
    unlock();
    Atomics::membarrier();
    lock();
    if (pending_ != 0) {
      pending_ = 0;
      taken_ = settle_base(OthersWords{words_}, raised);
      const uint32_t base = words_.base.load(kRelaxed);
      for (uint32_t place = base - taken_; place != base; ++place) {
        const uint32_t block = entry(place).load(kRelaxed);
        own(block, 2);
        entry(place).store(0, kRelaxed);
      }
    }
    unlock();
  }

  // Once both have ended: what is left in the array has no owner, and nothing is lost.
  void check() {
    uint32_t found = 0;
    const uint32_t gone = pending_ != 0 ? 0 : uint32_t{taken_};
    for (uint32_t place = kFirst + gone; place != words_.top.load(kRelaxed); ++place) {
      require(owner_[entry(place).load(kRelaxed) - 1] == 0, "the array holds free blocks");
      ++found;
    }
    for (const auto& owner : owner_) found += owner != 0 ? 1 : 0;
    require(found == kBlocks, "each block is in one place");
  }

 private:
  // In the lock's hold the owner moves what is left down to where the array begins.
  uint32_t pop_slowly() {
    lock();
    const uint32_t gone = pending_ != 0 ? 0 : uint32_t{taken_};
    uint32_t top = words_.top.load(kRelaxed);
    for (uint32_t place = kFirst + gone; gone != 0 && place != top; ++place)
      entry(place - gone).store(entry(place).load(kRelaxed), kRelaxed);
    top -= gone;
    pending_ = taken_ = 0;
    words_.base.store(kFirst, kRelaxed);
    uint32_t block = 0;
    if (top != kFirst) block = entry(--top).load(kRelaxed);
    words_.top.store(top, kRelaxed);
    unlock();
    return block;
  }
  void lock() {
    uint32_t open = 0;
    while (!lock_.compare_exchange_strong(open, 1, kAcquire, kRelaxed)) {
      open = 0;
      Atomics::cpu_relax();
    }
  }
  void unlock() { lock_.store(0, kRelease); }
  Atomics::Atomic<uint32_t>& entry(uint32_t place) { return places_[place - kFirst]; }
  // What a block's owner writes to it: a race if it had two.
  void own(uint32_t block, int owner) {
    require(block != 0, "an entry within the array has a block");
    require(owner == 0 || owner_[block - 1] == 0, "a block is taken once");
    owner_[block - 1] = owner;
  }

  Atomics::Atomic<uint32_t> lock_{0};
  ArrayWords words_{kFirst};
  Atomics::Atomic<uint32_t> places_[kBlocks];
  Atomics::Var<uint32_t> pending_{0}, taken_{0};  // what the lock guards
  Atomics::Var<int> owner_[kBlocks];
  uint32_t popped_ = 0;  // the owner's
};

const Body<Cache> kCheck = [](Cache& cache) { cache.check(); };

TEST(ArrayEndsProof, AnOwnerThatPopsWhileAnotherTakes) {
  prove<Cache>({[](Cache& cache) { cache.pop(), cache.pop(); }, [](Cache& cache) { cache.reach(); }}, 3, kCheck);
}

TEST(ArrayEndsProof, AnOwnerThatPopsMoreThanThereIs) {
  prove<Cache>(
      {[](Cache& cache) { cache.pop(), cache.pop(), cache.pop(), cache.pop(); }, [](Cache& cache) { cache.reach(); }},
      3, kCheck);
}

TEST(ArrayEndsProof, AnOwnerThatPopsAndPushes) {
  prove<Cache>(
      {[](Cache& cache) { cache.pop(), cache.push(), cache.pop(), cache.pop(); }, [](Cache& cache) { cache.reach(); }},
      3, kCheck);
}

TEST(ArrayEndsProof, NeedsEachOfItsOrders) {
  const std::vector<Bodies<Cache>> scenarios = {
      {[](Cache& cache) { cache.pop(), cache.pop(); }, [](Cache& cache) { cache.reach(); }},
      {[](Cache& cache) { cache.pop(), cache.push(); }, [](Cache& cache) { cache.reach(); }}};
  EXPECT_EQ(unnoticed_by_all(scenarios, {MemoryModel::kStoreBuffers, MemoryModel::kViews}, kCheck),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace snug::schedule
