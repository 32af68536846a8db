// A heap's own thread, which takes the lock only while the process has several threads (slab/owner_hold.h, as it
// ships): the process gets a second thread, which frees into the heap, and loses it again. glibc's flag for a single
// thread never returns to true in a process that had threads; a libc that sets it again on joining is right as well.
#include <gtest/gtest.h>

#include <vector>

#include "base/atomic.h"
#include "proof.h"
#include "small_heaps.h"

namespace snug::schedule {
namespace {

// What is planted: a proof has to see it.
enum class Slip {
  kNone,
  kSaidTooLate,   // libc says that there are two threads some time after the second one has begun
  kSaidTooEarly,  // that there is one, some time before the second one has ended
};

// The heap has the slab, with both blocks handed out, and a second slab.
template <Slip kSlip>
class Process : public SmallHeaps<Plant::kNone, 2> {
 public:
  Process() {
    own_ = &begin();
    place(0, *own_, 3);
    place(1, *own_, 0);
    ScheduledProcess::ask(&is_single_threaded_);
  }

  // Main's thread, which has the heap.
  void run() {
    use();
    if (kSlip != Slip::kSaidTooLate) is_single_threaded_ = false;
    state_.store(kStarted, kRelease);
    use();
    if (kSlip != Slip::kNone) is_single_threaded_ = kSlip == Slip::kSaidTooEarly;
    if (kSlip == Slip::kSaidTooEarly) use();
    while (state_.load(kAcquire) != kEnded) ScheduledAtomics::cpu_relax();
    is_single_threaded_ = true;
    use();
  }
  // The second thread frees what main's has allocated, with a heap of its own or none.
  void free_blocks(bool has_heap) {
    while (state_.load(kAcquire) != kStarted) ScheduledAtomics::cpu_relax();
    if (has_heap) {
      Heap& heap = begin();
      free(heap, 0), free(heap, 1);
      end(heap);
    } else {
      free_without_heap(0), free_without_heap(1);
    }
    state_.store(kEnded, kRelease);
  }
  void check_end() {
    use();
    end(*own_);
    check();
  }

 private:
  enum : uint32_t { kAlone, kStarted, kEnded };

  // A slow allocation and a slow free.
  void use() {
    const int block = allocate(*own_);
    require(block >= 0, "there is a block left");
    free(*own_, block);
  }

  Heap* own_;
  ScheduledAtomics::Var<bool> is_single_threaded_{true};
  ScheduledAtomics::Atomic<uint32_t> state_{kAlone};
};

template <class State>
const Body<State> kRun = [](State& process) { process.run(); };
template <class State>
const Body<State> kFree = [](State& process) { process.free_blocks(false); };
template <class State>
const Body<State> kFreeWithHeap = [](State& process) { process.free_blocks(true); };
template <class State>
const Body<State> kCheck = [](State& process) { process.check_end(); };

TEST(OwnerHoldProof, AProcessGetsASecondThreadAndLosesIt) {
  using State = Process<Slip::kNone>;
  prove<State>({kRun<State>, kFree<State>}, 3, kCheck<State>, 2);
  prove<State>({kRun<State>, kFreeWithHeap<State>}, 3, kCheck<State>, 1);
}

TEST(OwnerHoldProof, WhatIsPlantedIsSeen) {
  using Late = Process<Slip::kSaidTooLate>;
  EXPECT_TRUE(is_seen<Late>({kRun<Late>, kFree<Late>}, 3, kCheck<Late>));
  using Early = Process<Slip::kSaidTooEarly>;
  EXPECT_TRUE(is_seen<Early>({kRun<Early>, kFree<Early>}, 3, kCheck<Early>));
}

}  // namespace
}  // namespace snug::schedule
