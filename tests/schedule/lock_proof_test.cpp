// The lock that ships, in every order of steps of two or three threads: its holder is alone and sees what the previous
// holder wrote, no thread sleeps while the lock is free, and a thread that forks passes the locks that it holds.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/atomic.h"
#include "base/lock.h"
#include "proof.h"
#include "scheduled_atomics.h"

namespace snug::schedule {
namespace {

// The first thread of a scenario is the one that forks.
struct FirstForks {
  static void begin() {}
  static void end() {}
  static bool is_this_one() { return Scheduler::active().current() == 0; }
  static bool has_outlived_others() { return false; }
};

class Room {
 public:
  void pass() {
    lock_.lock();
    enter();
    lock_.unlock();
  }
  void try_to_pass() {
    if (!lock_.try_lock()) return;
    enter();
    lock_.unlock();
  }
  // As a fork's handlers: others' run in the middle, and take the lock as well.
  void fork() {
    lock_.lock_for_fork();
    pass();
    enter();
    lock_.unlock_after_fork();
  }
  // Leaves a message; the thread that holds the lock, or the next one, takes it (slab/mailbox.h). The store needs no
  // more than that the sender looks at the lock right after it, in the order of all such operations.
  void leave_message() {
    message_.store(true, kRelaxed);
    take_messages();
  }
  void hold() {
    lock_.lock();
    lock_.unlock();
    take_messages();
  }
  void check() {
    require(!lock_.is_held(), "the lock is open at the end");
    require(!message_.load(kRelaxed), "no message is left behind");
  }
  int entries() const { return entries_; }

 private:
  void enter() { entries_ = entries_ + 1; }
  void take_messages() {
    while (message_.load(kSeqCst)) {
      if (!lock_.try_lock()) return;
      message_.store(false, kRelaxed);
      lock_.unlock();
    }
  }

  BasicLock<ScheduledAtomics, FirstForks> lock_;
  ScheduledAtomics::Var<int> entries_{0};
  ScheduledAtomics::Atomic<bool> message_{false};
};

const Body<Room> kPass = [](Room& room) { room.pass(); };
const Body<Room> kPassTwice = [](Room& room) { room.pass(), room.pass(); };
const Body<Room> kTry = [](Room& room) { room.try_to_pass(); };
const Body<Room> kFork = [](Room& room) { room.fork(); };
const Body<Room> kMessage = [](Room& room) { room.leave_message(); };
const Body<Room> kHold = [](Room& room) { room.hold(); };

const Body<Room> kCheck = [](Room& room) { room.check(); };

Body<Room> entered(int times) {
  return [times](Room& room) {
    room.check();
    require(room.entries() == times, "each thread has been inside as often as it was let in");
  };
}

TEST(LockProof, TwoThreadsAreAloneInside) { prove<Room>({kPassTwice, kPassTwice}, 4, entered(4)); }

TEST(LockProof, ThreeThreadsAreAloneInside) { prove<Room>({kPass, kPass, kPass}, 4, entered(3)); }

TEST(LockProof, WhoTriesDoesNotDisturb) { prove<Room>({kPass, kTry, kPass}, 4, kCheck); }

TEST(LockProof, AThreadThatForksPassesThroughItsOwnLock) {
  prove<Room>({kFork, kPass}, 4, entered(3));
  prove<Room>({kFork, kTry, kPass}, 3, kCheck);
}

TEST(LockProof, WhereTryingFailsTheHolderSeesWhatWasDoneBefore) {
  prove<Room>({kMessage, kHold}, 4, kCheck);
  prove<Room>({kMessage, kHold, kMessage}, 3, kCheck);
}

// But for three. Of a try what matters is that a failing one is a load in the order of all such operations, whatever a
// successful one is. And where lock() and try_lock_with_waiters() fail they go on to another attempt, and what the
// failing one has read is not used: they name one order for both, and no processor that we build for has a cheaper one.
TEST(LockProof, NeedsEachOfItsOrders) {
  const std::vector<Bodies<Room>> scenarios = {{kPass, kPass}, {kPass, kTry}, {kFork, kPass}, {kMessage, kHold}};
  EXPECT_EQ(unnoticed_by_all(scenarios, kModels, kCheck),
            (std::vector<std::string>{
                "lock.h lock: compare_exchange(acquire, acquire) as compare_exchange(acquire, relaxed)",
                "lock.h try_lock: compare_exchange(seq_cst, seq_cst) as compare_exchange(acq_rel, seq_cst)",
                "lock.h try_lock_with_waiters: compare_exchange(acquire, acquire) as "
                "compare_exchange(acquire, relaxed)"}));
}

}  // namespace
}  // namespace snug::schedule
