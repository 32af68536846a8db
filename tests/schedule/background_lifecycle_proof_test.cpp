// How the background thread comes and goes (allocator/background_lifecycle.h with os/wake_event.h, as they ship), while
// threads of the program begin and end. It leaves by itself once they have ended; a program that has joined all of them
// and has to be alone has no further thread, and none starts; while several have a cache, the background thread is
// there or wanted; two of its lives never work at once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator/background_lifecycle.h"
#include "base/atomic.h"
#include "os/wake_event.h"
#include "proof.h"
#include "small_heaps.h"

namespace snug::schedule {
namespace {

// What is planted: a proof has to see it. The first is how it was.
enum class Slip {
  kNone,
  kLooksFirst,     // a thread that has to be alone sees no background thread and returns; one may be coming or going
  kTellsFirst,     // a thread wakes the background thread before its cache has ended
  kForgetsToAsk,   // a thread that has sent the background thread away does not check which caches began meanwhile
  kDoesNotJoin,    // or does not wait for its end
  kCountsTooLate,  // a cache that has begun is counted after the invitation
  kForgetsSilent,  // as it leaves, the background thread asks for caches alone
};

// A process of kThreads threads and kLives lives of the background thread, each a thread of the proof. The last thread
// of the program to end is main's, which has joined the others. What libc does to start and to join orders no more than
// it says. kMakes: in the drop-in, where each pthread_create is seen, and a silent thread may be made.
template <int kThreads, int kLives, Slip kSlip = Slip::kNone, bool kMakes = false>
class Process {
 public:
  using Lifecycle = BackgroundLifecycle<Process>;

  // Before the threads run: so many have a cache, and the background thread is there, or wanted.
  void set_up(size_t caches, bool is_there) {
    count_ = caches;
    caches_.store(caches, kRelaxed);
    wake_event_.invite();
    if (is_there) operate();
  }

  // -- threads of the program

  // A cache begins and ends, as in ThreadCacheList.
  void begin() {
    if (kSlip == Slip::kCountsTooLate) wake_event_.invite();
    change_count(1);
    if (kSlip != Slip::kCountsTooLate && caches_.load() > 1) wake_event_.invite();
  }
  void end() {
    if (kSlip == Slip::kTellsFirst) wake_event_.remind();
    change_count(-1);
    has_seen_end_.store(true, kRelaxed);
    if (kSlip != Slip::kTellsFirst) Lifecycle::note_end(*this);
  }
  // As before a fork.
  void be_alone() {
    if (sees_silent_threads() || (kSlip == Slip::kLooksFirst && !wake_event_.is_attended())) return;
    if (kSlip != Slip::kForgetsToAsk) return static_cast<void>(Lifecycle::be_alone(*this));
    bool was_wanted = false;
    if (!is_superfluous() || !wake_event_.send_away(&was_wanted)) return;
    if (is_unjoined_) join_thread();
    is_unjoined_ = false;
    wake_event_.gone();
  }
  // As pthread_create in the drop-in, of a thread that stays and never allocates.
  void make_silent() {
    has_silent_ = true;
    silent_.store(1);
    if (!wake_event_.is_attended()) wake_event_.invite();
  }
  // Something slow.
  void operate() {
    if (wake_event_.is_wanted()) Lifecycle::start(*this);
  }
  // Main's ends all at last.
  void dismiss() {
    is_dismissed_ = true;
    wake_event_.dismiss();
  }
  void exit() {
    if (threads_.fetch_sub(1, kAcqRel) != 1) return;
    // What an ended background thread did to the wake event is visible here, whatever the wake event's orders are.
    ScheduledAtomics::fence(kSeqCst);
    const bool is_anybody_left = running_ != 0;
    if (is_dismissed_) return;
    if (count_ <= 1 && !has_silent_) {
      be_alone();
      require(running_ == 0, "a thread that has joined all others is alone");
      operate();
      require(running_ == 0, "and stays alone");
    } else if (!wake_event_.is_attended() && !wake_event_.is_wanted()) {
      require(is_anybody_left, "somebody is here, or will come");
      must_invite_ = true;  // as it leaves, the background thread sees that it is needed again
      return;
    }
    close();
  }

  // The only thread does nothing any more: the background thread leaves by itself.
  void go_still() {
    if (!is_started_[0].load(kAcquire)) close();
  }

  // -- the background thread

  void live(int life) {
    wait_for(is_started_[life]);
    if (is_closed_[life]) return;
    Lifecycle::live(*this);
    require(!must_invite_ || wake_event_.is_wanted(), "somebody will come");
    if (must_invite_) close();
    ScheduledAtomics::fence(kSeqCst);
    --running_;
    is_over_[life].store(true, kRelease);
  }

 private:
  friend Lifecycle;

  static constexpr uint32_t kLooks = 0;
  static uint32_t period() { return 1; }
  // Under the thread cache list's lock, unless one thread alone changes it.
  void change_count(int change) {
    if (kThreads > 1) list_.lock();
    count_ = count_ + static_cast<size_t>(change);
    caches_.store(count_);
    if (kThreads > 1) list_.unlock();
  }
  // The background thread that is here has to go, and lives that have not begun never will.
  void close() {
    wake_event_.dismiss();
    for (int life = lives_; life < kLives; ++life) {
      is_closed_[life] = true;
      is_started_[life].store(true, kRelease);
    }
  }
  template <class Flag>
  static void wait_for(Flag& flag) {
    while (!flag.load(kAcquire)) ScheduledAtomics::cpu_relax();
  }

  bool is_superfluous() const { return caches_.load() <= 1; }
  bool is_wanted_again(bool) const { return !is_superfluous() || sees_silent_threads(); }
  bool has_seen_end() { return has_seen_end_.exchange(false, kRelaxed); }
  bool sees_silent_threads() const { return kMakes && kSlip != Slip::kForgetsSilent && silent_.load() != 0; }
  static bool looks_by_itself() { return false; }
  static bool is_final() { return true; }
  bool start_thread() {
    if (lives_ == kLives) return false;
    ++running_;
    thread_ = lives_;
    lives_ += 1;
    is_started_[thread_].store(true, kRelease);
    return true;
  }
  void join_thread() {
    if (kSlip != Slip::kDoesNotJoin) wait_for(is_over_[thread_]);
  }
  bool give_back_overdue() {
    passes_ += 1;
    // Beside a silent thread it would look again and again.
    while (kMakes && passes_ > 2 && wake_event_.is_served()) ScheduledAtomics::cpu_relax();
    return true;
  }
  static bool anything_ages() { return false; }

  BasicWakeEvent<ScheduledAtomics> wake_event_;
  ScheduledLock list_;
  ScheduledAtomics::Var<size_t> count_{1};
  ScheduledAtomics::Atomic<size_t> caches_{1};
  ScheduledAtomics::Atomic<bool> has_seen_end_{false};
  ScheduledAtomics::Atomic<int> silent_{0};
  ScheduledAtomics::Atomic<int> threads_{kThreads};
  ScheduledAtomics::Atomic<bool> is_started_[kLives], is_over_[kLives];
  ScheduledAtomics::Var<bool> is_closed_[kLives], is_unjoined_{false};
  ScheduledAtomics::Var<int> thread_{0}, lives_{0}, passes_{0};
  int running_ = 0;  // these four outside of the model
  bool must_invite_ = false;
  bool is_dismissed_ = false;
  bool has_silent_ = false;
};

// Two threads have a cache; the background thread is there, or wanted.
template <class State>
struct Attended : State {
  Attended() { this->set_up(2, true); }
};
template <class State>
struct Wanting : State {
  Wanting() { this->set_up(2, false); }
};
// Main's alone has one, and the background thread is about to see that.
template <class State>
struct Superfluous : State {
  Superfluous() {
    this->set_up(2, true);
    this->set_up(1, false);
  }
};

// A thread that begins, does something slow and ends; that ends, having begun before; that begins and ends; that begins
// and keeps its cache; that does something slow; that forks; that ends and leaves main alone; that makes a silent one.
template <class State>
const Body<State> kWhole = [](State& process) { process.begin(), process.operate(), process.end(), process.exit(); };
template <class State>
const Body<State> kEnd = [](State& process) { process.end(), process.exit(); };
template <class State>
const Body<State> kBrief = [](State& process) { process.begin(), process.end(), process.exit(); };
template <class State>
const Body<State> kBegin = [](State& process) { process.begin(), process.exit(); };
template <class State>
const Body<State> kOperate = [](State& process) { process.operate(), process.exit(); };
template <class State>
const Body<State> kFork = [](State& process) { process.be_alone(), process.exit(); };
template <class State>
const Body<State> kEndAndStay = [](State& process) { process.end(), process.go_still(); };
template <class State>
const Body<State> kMake = [](State& process) { process.make_silent(), process.exit(); };
template <class State>
const Body<State> kDismiss = [](State& process) { process.dismiss(), process.exit(); };
template <class State>
const Body<State> kBeginAndOperate = [](State& process) { process.begin(), process.operate(), process.exit(); };
template <class State>
const Body<State> kLive = [](State& process) { process.live(0); };
template <class State>
const Body<State> kLiveAgain = [](State& process) { process.live(1); };

template <class State>
const Body<State> kNoCheck = [](State&) {};  // the last thread has checked

TEST(BackgroundLifecycleProof, WhoHasJoinedAThreadIsAlone) {
  using Begins = Process<1, 1>;
  prove<Begins>({kWhole<Begins>, kLive<Begins>}, 4, kNoCheck<Begins>, 2);
  using Ends = Attended<Process<1, 1>>;
  prove<Ends>({kEnd<Ends>, kLive<Ends>}, 4, kNoCheck<Ends>, 3);
}

TEST(BackgroundLifecycleProof, LeavesByItself) {
  using State = Attended<Process<1, 1>>;
  prove<State>({kEndAndStay<State>, kLive<State>}, 4, kNoCheck<State>, 3);
}

TEST(BackgroundLifecycleProof, WhoHasJustComeIsSentAway) {
  using State = Wanting<Process<2, 1>>;
  prove<State>({kOperate<State>, kEnd<State>, kLive<State>}, 3, kNoCheck<State>, 1);
}

TEST(BackgroundLifecycleProof, WhereAnotherThreadHasBegunSomebodyComes) {
  using Leaves = Superfluous<Process<1, 1>>;
  prove<Leaves>({kBegin<Leaves>, kLive<Leaves>}, 4, kNoCheck<Leaves>, 3);
  using SentAway = Superfluous<Process<2, 1>>;
  prove<SentAway>({kFork<SentAway>, kBegin<SentAway>, kLive<SentAway>}, 3, kNoCheck<SentAway>, 1);
  using State = Attended<Process<2, 1>>;
  prove<State>({kEnd<State>, kBegin<State>, kLive<State>}, 3, kNoCheck<State>, 1);
}

TEST(BackgroundLifecycleProof, WhereASilentThreadIsMadeSomebodyComes) {
  using Leaves = Superfluous<Process<1, 1, Slip::kNone, true>>;
  prove<Leaves>({kMake<Leaves>, kLive<Leaves>}, 4, kNoCheck<Leaves>, 3);
  using SentAway = Superfluous<Process<2, 1, Slip::kNone, true>>;
  prove<SentAway>({kFork<SentAway>, kMake<SentAway>, kLive<SentAway>}, 3, kNoCheck<SentAway>, 1);
}

TEST(BackgroundLifecycleProof, NoInvitationComesLate) {
  using State = Wanting<Process<2, 1>>;
  prove<State>({kEnd<State>, kBrief<State>, kLive<State>}, 3, kNoCheck<State>, 2);
  using Forks = Superfluous<Process<2, 1>>;
  prove<Forks>({kFork<Forks>, kBrief<Forks>, kLive<Forks>}, 3, kNoCheck<Forks>, 1);
}

TEST(BackgroundLifecycleProof, TwoLivesAreNeverAtWorkAtOnce) {
  using State = Superfluous<Process<1, 2>>;
  prove<State>({kBeginAndOperate<State>, kLive<State>, kLiveAgain<State>}, 3, kNoCheck<State>, 1);
}

// Where main's thread leaves first, nobody waits for ever.
TEST(BackgroundLifecycleProof, WhoIsDismissedGoes) {
  using State = Attended<Process<2, 1>>;
  prove<State>({kDismiss<State>, kEnd<State>, kLive<State>}, 3, kNoCheck<State>, 1);
}

// -- what is planted -------------------------------------------------------------------------------------------------

TEST(BackgroundLifecycleProof, WhatIsPlantedIsSeen) {
  using First = Attended<Process<1, 1, Slip::kLooksFirst>>;
  EXPECT_TRUE(is_seen<First>({kEnd<First>, kLive<First>}, 3, kNoCheck<First>));
  using Tells = Attended<Process<1, 1, Slip::kTellsFirst>>;
  EXPECT_TRUE(is_seen<Tells>({kEndAndStay<Tells>, kLive<Tells>}, 3, kNoCheck<Tells>));
  using Forgets = Superfluous<Process<2, 1, Slip::kForgetsToAsk>>;
  EXPECT_TRUE(is_seen<Forgets>({kFork<Forgets>, kBegin<Forgets>, kLive<Forgets>}, 3, kNoCheck<Forgets>));
  using Joins = Attended<Process<1, 1, Slip::kDoesNotJoin>>;
  EXPECT_TRUE(is_seen<Joins>({kEnd<Joins>, kLive<Joins>}, 3, kNoCheck<Joins>));
  using Silent = Superfluous<Process<1, 1, Slip::kForgetsSilent, true>>;
  EXPECT_TRUE(is_seen<Silent>({kMake<Silent>, kLive<Silent>}, 3, kNoCheck<Silent>));
  using Late = Superfluous<Process<2, 1, Slip::kCountsTooLate>>;
  EXPECT_TRUE(is_seen<Late>({kFork<Late>, kBegin<Late>, kLive<Late>}, 3, kNoCheck<Late>));
}

// Of the wake event alone: the others are the proof's own. Where one ends, invitations are no part of it, which need
// what a failing change reads, and the order of a change. And send_away() must not read of an earlier life: for that it
// would take a second one, more than a search comes through.
TEST(BackgroundLifecycleProof, NeedsEachOfItsOrders) {
  using Begins = Superfluous<Process<1, 1, Slip::kNone, true>>;
  EXPECT_EQ(unnoticed_by_all<Begins>({{kBegin<Begins>, kLive<Begins>}, {kMake<Begins>, kLive<Begins>}},
                                     {MemoryModel::kViews}, kNoCheck<Begins>, "wake_event.h"),
            std::vector<std::string>{});
  using Ends = Attended<Process<1, 1>>;
  EXPECT_EQ(unnoticed_by_all<Ends>({{kEnd<Ends>, kLive<Ends>}, {kEndAndStay<Ends>, kLive<Ends>}}, {MemoryModel::kViews},
                                   kNoCheck<Ends>, "wake_event.h"),
            (std::vector<std::string>{
                "wake_event.h change: compare_exchange(seq_cst, seq_cst) as compare_exchange(seq_cst, acquire)",
                "wake_event.h send_away: compare_exchange(seq_cst, seq_cst) as compare_exchange(acq_rel, seq_cst)",
                "wake_event.h send_away: compare_exchange(seq_cst, seq_cst) as compare_exchange(seq_cst, acquire)",
                "wake_event.h send_away: load(seq_cst) as load(acquire)"}));
}

}  // namespace
}  // namespace snug::schedule
