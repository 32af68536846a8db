// SmallHeaps: heaps of a few blocks that change hands, for proofs of how: the lock, the mailbox, the remote frees and
// the heap table are those that ship; what lies between them is SlabHeap's, in the same order, with slabs of two
// blocks.
//
// What is watched: each block is in one place and has one writer at a time, with what its last one wrote; a heap has
// one thread, unless it is to be shared; a slab lies in one heap; and once all threads have ended, nothing waits in a
// heap without a thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/atomic.h"
#include "base/lock.h"
#include "explore.h"
#include "scheduled_atomics.h"
#include "slab/heap_table.h"
#include "slab/mailbox.h"
#include "slab/owner_hold.h"
#include "slab/remote_frees.h"

namespace snug::schedule {

// Which thread forks at this moment, as base/lock.h has it.
class ScheduledForks {
 public:
  static void begin() { thread_ = Scheduler::active().current(); }
  static void end() { thread_ = kNobody; }
  static bool is_this_one() { return thread_ == Scheduler::active().current(); }
  static bool has_outlived_others() { return false; }

 private:
  static constexpr unsigned kNobody = kMaxThreads + 1;
  static inline unsigned thread_ = kNobody;
};
using ScheduledLock = BasicLock<ScheduledAtomics, ScheduledForks>;

// Whether the process has one thread, as libc says it: plain data, so that a race on it is reported.
// False unless a proof says where it stands.
class ScheduledProcess {
 public:
  static void ask(const ScheduledAtomics::Var<bool>* place) { place_ = place; }
  static bool is_single_threaded() { return place_ != nullptr && *place_; }

 private:
  static inline const ScheduledAtomics::Var<bool>* place_ = nullptr;
};

// What is planted: a proof has to see it.
enum class Plant {
  kNone,
  kVisitorsDoNotLookAgain,  // the old fault of `collect`: after trim or adopt, mail stayed that had come meanwhile
  kVisitorsLookTooEarly,    // the same fault's other half: a visitor looked before it had unlocked
  kPassesOnAndLeaves,       // mail that follows its slab into a heap that has lost its thread as well
  kLooksWhereItWas,         // a sender that looks into the heap to which the slab belonged before
  kStaysExpected,           // a thread that ends, and senders go on leaving their mail to it
  kAdoptsWithoutLock,       // a slab is taken without the lock of the heap that has it
  kForgetsTheOthers,        // the first thread of several that ends leaves the heap as if it were the last one
};

template <Plant kPlant, int kSlabCount>
class SmallHeaps {
 public:
  static constexpr int kBlocksOfSlab = 2, kBlocks = kSlabCount * kBlocksOfSlab, kIds = 4;
  class Heap;
  using Table = HeapTable<Heap, ScheduledAtomics, ScheduledLock>;
  using Frees = RemoteFrees<ScheduledAtomics>;

  SmallHeaps() {
    ScheduledForks::end();  // a run that was given up may have left it begun
    ScheduledProcess::ask(nullptr);
    heaps_.open(places_);
  }

  Table& heap_table() { return heaps_; }
  // All threads are to share one heap.
  void share() {
    is_shared_ = true;
    heaps_.bound(1);
  }
  Heap* take() {
    return heaps_.take([this](uint16_t id) {
      made_[id] = std::make_unique<Heap>(*this, id);
      return made_[id].get();
    });
  }
  // Before the threads run: a slab of the heap, with the blocks of the mask handed out.
  void place(int slab, Heap& heap, uint32_t out) {
    slabs_[slab].owner.store(heap.id(), kRelaxed);
    slabs_[slab].free = ~out & 3;
    for (int block = 0; block < kBlocksOfSlab; ++block)
      if ((out >> block & 1) != 0) contents_[slab * kBlocksOfSlab + block] = kLive;
    heap.slabs_ |= 1u << slab;
    heap.slab_count_.fetch_add(1, kRelaxed);
  }

  // A thread begins, and ends.
  Heap& begin() {
    Heap* heap = take();
    require(heap != nullptr, "there is a heap for each thread");
    if (is_shared_) return *heap;
    require(!heap->has_thread_, "a heap has one thread");
    heap->has_thread_ = true;
    return *heap;
  }
  void end(Heap& heap) {
    require(is_shared_ || heap.has_thread_, "a thread has its heap until it ends");
    if (!is_shared_) heap.has_thread_ = false;
    heaps_.leave(heap, [](Heap&) {});
  }

  // A block for the heap's thread; -1 if there is none.
  int allocate(Heap& heap) {
    const typename Heap::Hold hold(heap);
    if (heap.gives_nothing()) heaps_.adopt_slab(0, heap);
    return heap.take_block();
  }
  // A free by a thread that has a heap, and by one that has none (HeapRegistry::take_home).
  void free(Heap& own, int block) {
    give_up(block);
    const typename Heap::Hold hold(own);
    own.flush(block);
  }
  void free_without_heap(int block) {
    give_up(block);
    Heap& owner = *heaps_.heap(slab_of(block).owner.load(kRelaxed));
    const typename Heap::Visit visit(owner);
    owner.flush(block);
  }
  // malloc_trim, or the background thread.
  void trim() {
    heaps_.visit_all([](Heap&) {});
  }

  // Once all threads have ended.
  void check() {
    check_child();
    for (int block = 0; block < kBlocks; ++block) {
      require(contents_[block] != kOnItsWay, "each freed block has come home");
      require(is_free(block) == (contents_[block] == kFree), "a block is in its slab, or out of it");
    }
  }
  // The same in the child of a fork, where threads have vanished with blocks in their hands.
  void check_child() {
    uint32_t slabs = 0;
    heaps_.for_each([&](Heap& heap) {
      require(!heap.lock().is_held(), "each heap's lock is open");
      require(heap.thread_count() != 0 || !heap.has_mail(), "nothing waits in a heap without a thread");
      heap.open_all_mail();
      require((slabs & heap.slabs_) == 0, "a slab lies in one heap");
      slabs |= heap.slabs_;
      require(static_cast<size_t>(std::popcount(uint32_t{heap.slabs_})) == heap.slab_count(),
              "a heap counts its slabs");
    });
    require(slabs == (1u << kSlabCount) - 1, "no slab is lost");
    require(heaps_.check() == nullptr, "the roll counts those without a thread");
    for (int block = 0; block < kBlocks; ++block) {
      if (is_free(block)) require(contents_[block] == kFree, "what is in a slab was put there whole");
    }
    for (const Slab& slab : slabs_) {
      require(slab.words[0].load(kRelaxed) == 0, "no remote free is forgotten");
    }
  }

 private:
  static constexpr int kFree = 0, kLive = 1, kOnItsWay = 2;

  struct Slab {
    Frees frees{nullptr, 0};
    ScheduledAtomics::Atomic<uint64_t> words[1];  // where RemoteFrees has its bits
    ScheduledAtomics::Atomic<uint16_t> owner{0};  // as its page entries have it
    ScheduledAtomics::Var<uint32_t> free{0};
  };

  bool is_free(int block) { return (slab_of(block).free >> block % kBlocksOfSlab & 1) != 0; }
  Slab& slab_of(int block) { return slabs_[block / kBlocksOfSlab]; }
  void give_up(int block) {
    require(contents_[block] == kLive, "a thread frees only a block that it has");
    contents_[block] = kOnItsWay;
  }

  bool is_shared_ = false;
  typename Table::template Places<kIds> places_;
  Table heaps_;
  std::unique_ptr<Heap> made_[kIds];
  Slab slabs_[kSlabCount];
  ScheduledAtomics::Var<int> contents_[kBlocks];  // what its owner for the time being has written
};

// As SlabHeap: its functions have the same names.
template <Plant kPlant, int kSlabCount>
class SmallHeaps<kPlant, kSlabCount>::Heap {
 public:
  using Hold = OwnerHold<Heap, ScheduledProcess>;
  class Visit {
   public:
    explicit Visit(Heap& heap) : heap_(heap) { heap_.box_.begin_visit(heap_.opens()); }
    ~Visit() { heap_.end_visit(); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Heap& heap_;
  };

  Heap(SmallHeaps& heaps, uint16_t id) : heaps_(heaps), id_(id) {}

  uint16_t id() const { return id_; }
  ScheduledLock& lock() { return box_.lock(); }
  bool has_mail() const { return box_.has_mail(); }
  void look_again() { box_.look_again(opens()); }
  size_t slab_count() const { return slab_count_.load(kRelaxed); }
  size_t slabs_to_give(size_t) const { return slab_count(); }
  size_t thread_count() const { return threads_; }
  void leave_unattended() {
    if constexpr (kPlant != Plant::kStaysExpected) box_.leave_unattended();
  }
  void open_all_mail() { box_.open_all(opens()); }
  bool try_visit() {
    if constexpr (kPlant == Plant::kAdoptsWithoutLock) return true;
    return box_.try_visit(opens());
  }
  void end_visit() {
    if constexpr (kPlant == Plant::kVisitorsDoNotLookAgain) {
      lock().unlock();
    } else if constexpr (kPlant == Plant::kVisitorsLookTooEarly) {
      open_all_mail();
      lock().unlock();
    } else if constexpr (kPlant != Plant::kAdoptsWithoutLock) {
      box_.end_visit(opens());
    }
  }

  bool give_slab(size_t, Heap& heir) {
    if (slabs_ == 0) return false;
    const int slab = std::countr_zero(uint32_t{slabs_});
    slabs_ &= ~(1u << slab);
    slab_count_.store(slab_count() - 1, kRelaxed);
    heaps_.slabs_[slab].owner.store(heir.id_, kRelaxed);
    heir.slabs_ |= 1u << slab;
    heir.slab_count_.store(heir.slab_count() + 1, kRelaxed);
    return true;
  }
  void flush(int block) {
    const uint16_t owner = heaps_.slab_of(block).owner.load(kRelaxed);
    owner == id_ ? put_home(block) : send(block, owner);
  }
  bool gives_nothing() {
    for (uint32_t left = slabs_; left != 0; left &= left - 1)
      if (heaps_.slabs_[std::countr_zero(left)].free != 0) return false;
    return true;
  }
  int take_block() {
    for (uint32_t left = slabs_; left != 0; left &= left - 1) {
      const int slab = std::countr_zero(left);
      const uint32_t free = heaps_.slabs_[slab].free;
      if (free == 0) continue;
      heaps_.slabs_[slab].free = free & (free - 1);
      const int block = slab * kBlocksOfSlab + std::countr_zero(free);
      require(heaps_.contents_[block] == kFree, "a block is handed out once");
      heaps_.contents_[block] = kLive;
      return block;
    }
    return -1;
  }

 private:
  friend class SmallHeaps;
  friend Table;
  friend Hold;

  // Read and written by the owner alone, so that it is no step.
  class OwnFlag {
   public:
    void store(bool value, MemoryOrder) { value_ = value; }
    bool load(MemoryOrder) const { return value_; }

   private:
    ScheduledAtomics::Var<bool> value_{false};
  };

  void set_thread_count(size_t threads) {
    if (kPlant == Plant::kForgetsTheOthers && threads < threads_) threads = 0;
    threads_ = threads;
  }
  void begin_hold() { box_.begin_hold(opens()); }
  void end_hold() { box_.end_hold(opens()); }
  void put_home(int block) {
    require(heaps_.contents_[block] == kOnItsWay, "a block comes home as it was freed, and once");
    heaps_.contents_[block] = kFree;
    heaps_.slab_of(block).free |= 1u << block % kBlocksOfSlab;
  }
  void send(int block, uint16_t owner) {
    Heap& target = *heaps_.heaps_.heap(owner);
    if (target.box_.wants_senders() && target.try_visit()) {
      target.flush(block);
      return target.end_visit();
    }
    Slab& slab = heaps_.slab_of(block);
    const auto added = slab.frees.add(0, uint64_t{1} << block % kBlocksOfSlab);
    require(added != Frees::Added::kTwice, "each block is freed once");
    if (added != Frees::Added::kFirst) return;
    Heap& owner_now = *heaps_.heaps_.heap(slab.owner.load(kRelaxed));
    owner_now.box_.post(&slab.frees);
    if (!Hold::is_in_without_lock(owner_now)) (kPlant == Plant::kLooksWhereItWas ? target : owner_now).look_again();
  }
  void open(Frees& frees) {
    int slab = 0;
    while (&heaps_.slabs_[slab].frees != &frees) ++slab;
    const uint16_t owner = heaps_.slabs_[slab].owner.load(kRelaxed);
    if (owner != id_) {
      Heap& adopter = *heaps_.heaps_.heap(owner);
      adopter.box_.post(&frees);
      if (kPlant != Plant::kPassesOnAndLeaves && !Hold::is_in_without_lock(adopter)) adopter.look_again();
      return;
    }
    frees.take([&](size_t, uint64_t mask) {
      require(mask != 0, "a named word has its bits");
      for (; mask != 0; mask &= mask - 1) put_home(slab * kBlocksOfSlab + std::countr_zero(mask));
    });
  }
  auto opens() {
    return [this](Frees& frees) { open(frees); };
  }

  SmallHeaps& heaps_;
  const uint16_t id_;
  Mailbox<Frees, ScheduledAtomics, ScheduledLock> box_;
  ScheduledAtomics::Var<uint32_t> slabs_{0};  // a bit each
  ScheduledAtomics::Atomic<size_t> slab_count_{0};
  OwnFlag is_owner_in_;
  ScheduledAtomics::Var<bool> has_thread_{false};
  ScheduledAtomics::Var<size_t> threads_{0};
};

}  // namespace snug::schedule
