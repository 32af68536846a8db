// The way home of blocks that other threads free, as it ships: remote frees and the mailbox, by every order of steps of
// an owner and one or two senders. Each block comes home once, with what its last owner wrote to it; nobody touches the
// heap without its lock; and where the owner is not expected nothing stays behind.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "proof.h"
#include "scheduled_atomics.h"
#include "slab/mailbox.h"
#include "slab/remote_frees.h"

namespace snug::schedule {
namespace {

// Of the lock that ships (base/lock.h), what a heap needs of it.
class SpinLock {
 public:
  void lock() {
    while (!try_lock()) ScheduledAtomics::cpu_relax();
  }
  bool try_lock() {
    uint32_t expected = 0;
    return word_.compare_exchange_strong(expected, 1, kSeqCst);
  }
  void unlock() { word_.exchange(0, kSeqCst); }

 private:
  ScheduledAtomics::Atomic<uint32_t> word_{0};
};

class Heap {
 public:
  using Frees = RemoteFrees<ScheduledAtomics>;
  static constexpr int kSlabs = 2, kWords = 2, kBlocksOfSlab = 3;  // two in the first word, one in the second

  // As SlabHeap::send.
  void send(int slab, int block) {
    contents_[slab][block] = 1;
    if (box_.wants_senders() && box_.try_visit(opens())) {
      take_home(slab, block);
      return box_.end_visit(opens());
    }
    Frees& frees = slabs_[slab].frees;
    const Frees::Added added = frees.add(static_cast<size_t>(block) / 2, uint64_t{1} << block % 2);
    require(added != Frees::Added::kTwice, "each block is freed once");
    if (added != Frees::Added::kFirst) return;
    box_.post(&frees);
    box_.look_again(opens());
  }

  // As SlabHeap::Hold.
  void come_by() {
    box_.lock().lock();
    box_.begin_hold(opens());
    ++operations_;
    box_.end_hold(opens());
  }

  void leave() {
    box_.lock().lock();
    box_.leave_unattended();
    box_.end_visit(opens());
  }

  // Once all threads have ended.
  void check(int blocks, bool is_left) {
    if (is_left) require(!box_.has_mail() && home_ == blocks, "nothing stays behind");
    require(box_.try_visit(opens()), "the lock is open");
    box_.open_all(opens());
    box_.end_visit(opens());
    require(home_ == blocks, "each block has come home");
  }

 private:
  struct Slab {
    Frees frees{nullptr, 0};
    ScheduledAtomics::Atomic<uint64_t> words[kWords];  // where RemoteFrees has its bits
  };

  void take_home(int slab, int block) {
    require(contents_[slab][block] == 1, "a block comes home as it was freed, and once");
    contents_[slab][block] = 2;  // as its next owner would write to it
    home_ += 1;
  }
  void open(Frees& frees) {
    const int slab = &frees == &slabs_[0].frees ? 0 : 1;
    frees.take([&](size_t word, uint64_t mask) {
      require(mask != 0, "a named word has its bits");
      for (; mask != 0; mask &= mask - 1) take_home(slab, static_cast<int>(word) * 2 + std::countr_zero(mask));
    });
  }
  struct Opens {
    Heap* heap;
    void operator()(Frees& frees) const { heap->open(frees); }
  };
  Opens opens() { return {this}; }

  Slab slabs_[kSlabs];
  Mailbox<Frees, ScheduledAtomics, SpinLock> box_;
  ScheduledAtomics::Var<int> home_{0};  // what the lock guards
  ScheduledAtomics::Var<int> operations_{0};
  ScheduledAtomics::Var<int> contents_[kSlabs][kBlocksOfSlab];
};

Body<Heap> check(int blocks, bool is_left) {
  return [=](Heap& heap) { heap.check(blocks, is_left); };
}

TEST(MailboxProof, ASenderAndAnOwnerThatComesBy) {
  prove<Heap>(
      {[](Heap& heap) { heap.come_by(), heap.come_by(); }, [](Heap& heap) { heap.send(0, 0), heap.send(0, 1); }},
      kUnbounded, check(2, false));
}

TEST(MailboxProof, ASenderAndAnOwnerThatLeaves) {
  prove<Heap>({[](Heap& heap) { heap.come_by(), heap.leave(); }, [](Heap& heap) { heap.send(0, 0), heap.send(1, 0); }},
              3, check(2, true));
}

TEST(MailboxProof, TwoSendersOfOneSlabAndAnOwnerThatLeaves) {
  prove<Heap>({[](Heap& heap) { heap.come_by(), heap.leave(); }, [](Heap& heap) { heap.send(0, 0); },
               [](Heap& heap) { heap.send(0, 1); }},
              3, check(2, true));
}

TEST(MailboxProof, TwoSendersToAHeapWithoutAThread) {
  prove<Heap>(
      {[](Heap& heap) { heap.send(0, 0), heap.send(1, 0); }, [](Heap& heap) { heap.send(0, 1), heap.send(1, 1); }}, 3,
      check(4, true));
}

// But for three. Two keep a word's bits ahead of its name: in none of the models do updates of two locations overtake
// each other, as the language allows. The third is the lock's, as lock_proof_test.cpp has it.
TEST(MailboxProof, NeedsEachOfItsOrders) {
  const std::vector<Bodies<Heap>> scenarios = {
      {[](Heap& heap) { heap.come_by(), heap.leave(); }, [](Heap& heap) { heap.send(0, 0), heap.send(0, 2); }},
      {[](Heap& heap) { heap.come_by(), heap.leave(); }, [](Heap& heap) { heap.send(0, 0); },
       [](Heap& heap) { heap.send(0, 1); }},
  };
  EXPECT_EQ(unnoticed_by_all(scenarios, {MemoryModel::kViews}, check(2, true)),
            (std::vector<std::string>{"mailbox_proof_test.cpp try_lock: compare_exchange(seq_cst, seq_cst) as "
                                      "compare_exchange(acq_rel, seq_cst)",
                                      "remote_frees.h add: fetch(acq_rel) as fetch(acquire)",
                                      "remote_frees.h take: exchange(acq_rel) as exchange(release)"}));
}

}  // namespace
}  // namespace snug::schedule
