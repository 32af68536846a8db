// A fork, as it ships: it takes the locks of all parts in their order, with in-flight gates where something changes
// hands, while other threads run slow operations, begin, end, hold streams and fork as well. In the child every lock is
// open, and every part as if no thread had been in the middle of an operation; in the parent no thread waits for ever.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "allocator/fork_order.h"
#include "base/in_flight_gate.h"
#include "proof.h"
#include "small_heaps.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

// The parts of the allocator that a scenario is about, by their names there. Another part has a lock that no thread
// wants and that is no step: two threads with all locks would have too many orders.
enum Part : unsigned { kStreams = 1, kOpening = 2, kCacheList = 4, kHeaps = 8, kSpans = 16, kArena = 32 };
constexpr unsigned kAll = 63;

// What is planted: a proof has to see it.
enum class Fault {
  kNone,
  kArenaLeftOut,        // its lock is not taken
  kHeapsLeftOut,        // nor are those of heaps
  kOpeningLeftOut,      // two forks may run at once
  kArenaStaysShut,      // its lock is not dropped
  kSpansNotAtRest,      // the lock is taken while a thread has a span detached
  kCacheListNotAtRest,  // or while a heap has left one list and is not in the next
  kStreamsLast,         // libc's list of streams is taken when all else is
  kReapsOutOfFlight,    // the old fault of reap_orphans: a heap goes from list to list without an in-flight gate
};

struct UnwantedLock {
  void lock() {}
  void unlock() {}
  bool is_held() const { return false; }
  void lock_for_fork() {}
  void hold_for_fork() {}
  void unlock_after_fork() {}
};

// What has a lock and an in-flight gate: the span store, and the mapping store like it.
template <class LockType, bool kAtRest>
struct PartInHand {
  using InFlightGate = BasicInFlightGate<Atomics, LockType>;

  void lock_at_rest() { kAtRest ? in_flight.lock_at_rest(lock_) : lock_.lock_for_fork(); }
  void lock_for_fork() { lock_.lock_for_fork(); }
  void unlock_after_fork() { lock_.unlock_after_fork(); }
  LockType& lock() { return lock_; }

  LockType lock_;
  InFlightGate in_flight;
};

template <unsigned kParts, Fault kFault = Fault::kNone>
class Allocator {
 public:
  template <unsigned kPart, Fault kLeftOut = Fault::kNone>
  using LockOf = std::conditional_t<(kParts & kPart) != 0 && (kFault == Fault::kNone || kFault != kLeftOut),
                                    ScheduledLock, UnwantedLock>;
  using ForkLock = ScheduledLock;
  using CacheListLock = LockOf<kCacheList>;
  using CacheListGuard = BasicGateGuard<Atomics, CacheListLock>;
  using CacheListOpen = BasicUnlockedScope<Atomics, CacheListLock>;
  using SpansLock = LockOf<kSpans>;
  using Heaps = SmallHeaps<Plant::kNone, 1>;
  using Heap = Heaps::Heap;

  struct Streams {
    static void lock() {
      if constexpr (kFault != Fault::kStreamsLast) allocator_->list_of_streams_.lock_for_fork();
    }
    static void unlock() { allocator_->list_of_streams_.unlock_after_fork(); }
    static void reset() { unlock(); }
  };

  // Heap 1 has a thread and a cache, or that of an ended thread; of its slab the first block is out.
  Allocator() {
    allocator_ = this;
    heap_ = &heaps.begin();
    heaps.place(0, *heap_, 1);
    caches.caches = 1;
  }
  // In the child of an earlier fork.
  void orphan() {
    caches.caches = 0;
    caches.orphans = 1;
  }

  // -- other threads

  // A slow operation, with a system call about a span; and what the background thread does.
  void operate() {
    const typename Heap::Hold hold(*heap_);
    purge_span();
  }
  void purge_span() {
    const BasicGateGuard<Atomics, SpansLock> guard(spans.lock(), spans.in_flight);
    {
      const BasicUnlockedScope<Atomics, SpansLock> outside(spans.lock(), spans.in_flight);
      is_detached_ = true;
    }
    is_detached_ = false;
  }
  // A hold of the innermost lock.
  void take_record() {
    LockGuard guard(arena.own_lock);
    records_ += 1;
    record_bytes_ += 8;
  }
  // As ThreadCacheList::end() and start(), and as reap_orphan().
  void end() {
    const CacheListGuard guard(caches.lock_, caches.in_flight);
    leave_in_flight();
    caches.caches -= 1;
  }
  void begin() {
    const CacheListGuard guard(caches.lock_, caches.in_flight);
    {
      const CacheListOpen open(caches.lock_, caches.in_flight);
      heap_ = &heaps.begin();
    }
    caches.caches += 1;
  }
  void reap() {
    {
      const CacheListGuard guard(caches.lock_, caches.in_flight);
      caches.orphans -= 1;
      if constexpr (kFault != Fault::kReapsOutOfFlight) leave_in_flight();
    }
    if constexpr (kFault == Fault::kReapsOutOfFlight) heaps.end(*heap_);
  }
  void free_block() { heaps.free_without_heap(0); }
  void trim() { heaps.trim(); }
  // fflush of all streams, and getline that makes its line longer.
  void flush_all() {
    LockGuard list(list_of_streams_);
    LockGuard stream(stream_);
  }
  void read_line() {
    LockGuard stream(stream_);
    take_record();
  }

  // -- the thread that forks; libc takes the list of streams itself, within

  void fork_in_parent() {
    ForkOrder<Allocator>::before(*this);
    if constexpr ((kParts & kArena) != 0) take_record();  // in a handler of another library
    list_of_streams_.lock();
    list_of_streams_.unlock();
    ForkOrder<Allocator>::after_in_parent(*this);
  }
  void fork_in_child() {
    ForkOrder<Allocator>::before(*this);
    list_of_streams_.lock();
    Atomics::fork_to_child();
    list_of_streams_.unlock();
    ForkOrder<Allocator>::after_in_child(*this);
    check_child();
  }

  void check_parent() {
    require(!opening_.is_held() && !list_of_streams_.is_held() && !caches.lock_.is_held() && !arena.own_lock.is_held(),
            "each lock is open");
    require(record_bytes_ == records_ * 8 && !is_detached_, "nobody is in the middle of anything");
    heaps.check();
  }

  bool is_open() const { return true; }

  // -- the parts, by their names in the allocator

  struct {
    void before_fork() {}
    void wait_for_empty_hands() {}
    void after_fork_in_parent() {}
    void after_fork_in_child() {}
  } background;

  struct : PartInHand<CacheListLock, kFault != Fault::kCacheListNotAtRest> {
    Atomics::Var<int> caches{0}, orphans{0};
  } caches;

  Heaps heaps;
  struct Registry {
    void lock_all() {
      if constexpr ((kParts & kHeaps) != 0 && kFault != Fault::kHeapsLeftOut) heaps.heap_table().lock_all();
    }
    void unlock_all() {
      if constexpr ((kParts & kHeaps) != 0) heaps.heap_table().unlock_all();
    }
    Heaps& heaps;
  } registry{heaps};

  // Heaps that the program makes take part in no operation here.
  struct {
    void lock_all() {}
    void drop_other_threads() {}
    void unlock_all() {}
  } user_heaps;

  PartInHand<SpansLock, kFault != Fault::kSpansNotAtRest> spans;
  PartInHand<UnwantedLock, true> mappings;
  PartInHand<UnwantedLock, true> arrays;

  // Where its lock is left out, the fork is shown another one than is used.
  struct {
    struct Shown {
      void lock_for_fork() {
        if constexpr (kFault != Fault::kArenaLeftOut) lock.lock_for_fork();
      }
      void unlock_after_fork() {
        if constexpr (kFault != Fault::kArenaStaysShut) lock.unlock_after_fork();
      }
      LockOf<kArena>& lock;
    };
    Shown lock() { return {own_lock}; }

    LockOf<kArena> own_lock;
  } arena;

 private:
  friend class ForkOrder<Allocator>;

  // Each lock can be taken, and what it guards is at rest. The thread that held the heap is gone: its lock is free too.
  void check_child() {
    pass(list_of_streams_), pass(opening_), pass(caches.lock_), pass(spans.lock_);
    require(caches.in_flight.is_empty() && spans.in_flight.is_empty() && !is_detached_, "nothing is detached");
    take_record();
    require(record_bytes_ == records_ * 8, "a record is counted whole");
    if constexpr ((kParts & kHeaps) == 0) return;
    const int owners = caches.caches + caches.orphans + static_cast<int>(heaps.heap_table().abandoned_count());
    require(owners == 1, "a heap has one owner, or is there for the next");
    if (caches.caches + caches.orphans != 0) heaps.end(*heap_);
    heaps.check_child();
    heaps.begin();
  }
  template <class LockType>
  static void pass(LockType& lock) {
    LockGuard guard(lock);
  }
  void leave_in_flight() {
    const CacheListOpen open(caches.lock_, caches.in_flight);
    heaps.end(*heap_);
  }

  static inline Allocator* allocator_ = nullptr;  // of this run

  LockOf<kOpening, Fault::kOpeningLeftOut> opening_;
  LockOf<kStreams> list_of_streams_, stream_;
  Heap* heap_ = nullptr;
  Atomics::Var<bool> is_detached_{false};
  Atomics::Var<int> records_{0}, record_bytes_{0};
};

template <class State>
const Body<State> kForkInParent = [](State& allocator) { allocator.fork_in_parent(); };
template <class State>
const Body<State> kForkInChild = [](State& allocator) { allocator.fork_in_child(); };
template <class State>
const Body<State> kOperate = [](State& allocator) { allocator.operate(); };
template <class State>
const Body<State> kPurge = [](State& allocator) { allocator.purge_span(); };
template <class State>
const Body<State> kTakeRecord = [](State& allocator) { allocator.take_record(); };
template <class State>
const Body<State> kEnd = [](State& allocator) { allocator.end(); };
template <class State>
const Body<State> kBegin = [](State& allocator) { allocator.begin(); };
template <class State>
const Body<State> kFree = [](State& allocator) { allocator.free_block(); };
template <class State>
const Body<State> kTrim = [](State& allocator) { allocator.trim(); };
template <class State>
const Body<State> kFlushAll = [](State& allocator) { allocator.flush_all(); };
template <class State>
const Body<State> kReadLine = [](State& allocator) { allocator.read_line(); };
template <class State>
const Body<State> kReap = [](State& allocator) { allocator.reap(); };

template <class State>
const Body<State> kCheck = [](State& allocator) { allocator.check_parent(); };
template <class State>
const Body<State> kNoCheck = [](State&) {};  // the child has checked itself

// Nobody has the heap any more, or an orphan.
template <class State>
struct Ended : State {
  Ended() { this->end(); }
};
template <class State>
struct Orphaned : State {
  Orphaned() { this->orphan(); }
};

TEST(ForkProof, TheChildFindsEveryLockOpen) {
  using State = Allocator<kAll>;
  prove<State>({kForkInChild<State>, kTakeRecord<State>}, 3, kNoCheck<State>);
}

TEST(ForkProof, TheChildFindsASlowOperationAtRest) {
  using State = Allocator<kHeaps | kSpans>;
  prove<State>({kForkInChild<State>, kOperate<State>}, 3, kNoCheck<State>);
  prove<State>({kForkInChild<State>, kPurge<State>}, 3, kNoCheck<State>);
}

TEST(ForkProof, TheParentGoesOnWithASlowOperation) {
  using State = Allocator<kHeaps | kSpans>;
  prove<State>({kForkInParent<State>, kOperate<State>}, 3, kCheck<State>);
}

TEST(ForkProof, TheParentDropsWhatItTook) {
  using State = Allocator<kArena>;
  prove<State>({kForkInParent<State>, kTakeRecord<State>}, 4, kCheck<State>);
}

TEST(ForkProof, TheChildFindsEachHeapInOneHand) {
  using Running = Allocator<kCacheList | kHeaps>;
  prove<Running>({kForkInChild<Running>, kEnd<Running>}, 3, kNoCheck<Running>, 2);
  using Gone = Ended<Running>;
  prove<Gone>({kForkInChild<Gone>, kBegin<Gone>}, 3, kNoCheck<Gone>, 2);
}

TEST(ForkProof, TheParentGoesOnWithHeapsThatChangeHands) {
  using State = Allocator<kCacheList | kHeaps>;
  prove<State>({kForkInParent<State>, kEnd<State>}, 3, kCheck<State>, 2);
}

TEST(ForkProof, TheChildFindsMailAtHome) {
  using State = Ended<Allocator<kHeaps>>;
  prove<State>({kForkInChild<State>, kTrim<State>, kFree<State>}, 3, kNoCheck<State>, 2);
}

TEST(ForkProof, AForkWaitsForOrphansThatAreReaped) {
  using State = Orphaned<Allocator<kCacheList | kHeaps>>;
  prove<State>({kForkInChild<State>, kReap<State>}, 3, kNoCheck<State>, 2);
}

TEST(ForkProof, ThreadsThatUseStreamsAndForksDoNotWaitForEachOther) {
  using State = Allocator<kStreams | kArena>;
  prove<State>({kForkInParent<State>, kFlushAll<State>, kReadLine<State>}, 3, kCheck<State>, 1);
}

TEST(ForkProof, TwoThreadsForkInTurns) {
  using State = Allocator<kStreams | kOpening | kArena>;
  prove<State>({kForkInParent<State>, kForkInParent<State>}, 3, kCheck<State>);
  using WithoutStreams = Allocator<kOpening | kArena>;
  prove<WithoutStreams>({kForkInParent<WithoutStreams>, kForkInParent<WithoutStreams>}, 3, kCheck<WithoutStreams>);
}

// -- what is planted -------------------------------------------------------------------------------------------------

TEST(ForkProof, ALockThatIsLeftOutIsSeen) {
  using Arena = Allocator<kArena, Fault::kArenaLeftOut>;
  EXPECT_TRUE(is_seen<Arena>({kForkInChild<Arena>, kTakeRecord<Arena>}, 3, kNoCheck<Arena>));
  using Heaps = Allocator<kHeaps | kSpans, Fault::kHeapsLeftOut>;
  EXPECT_TRUE(is_seen<Heaps>({kForkInChild<Heaps>, kOperate<Heaps>}, 3, kNoCheck<Heaps>));
  using Opening = Allocator<kOpening | kArena, Fault::kOpeningLeftOut>;
  EXPECT_TRUE(is_seen<Opening>({kForkInParent<Opening>, kForkInParent<Opening>}, 3, kCheck<Opening>));
}

TEST(ForkProof, ALockThatStaysShutIsSeen) {
  using State = Allocator<kArena, Fault::kArenaStaysShut>;
  EXPECT_TRUE(is_seen<State>({kForkInParent<State>, kTakeRecord<State>}, 3, kCheck<State>));
}

TEST(ForkProof, APartThatIsNotAtRestIsSeen) {
  using Spans = Allocator<kHeaps | kSpans, Fault::kSpansNotAtRest>;
  EXPECT_TRUE(is_seen<Spans>({kForkInChild<Spans>, kPurge<Spans>}, 3, kNoCheck<Spans>));
  using CacheList = Allocator<kCacheList | kHeaps, Fault::kCacheListNotAtRest>;
  EXPECT_TRUE(is_seen<CacheList>({kForkInChild<CacheList>, kEnd<CacheList>}, 3, kNoCheck<CacheList>));
}

TEST(ForkProof, TheListOfStreamsTakenLastIsSeen) {
  using State = Allocator<kStreams | kArena, Fault::kStreamsLast>;
  EXPECT_TRUE(is_seen<State>({kForkInParent<State>, kFlushAll<State>, kReadLine<State>}, 3, kCheck<State>));
}

TEST(ForkProof, AnOrphanReapedOutOfFlightIsSeen) {
  using State = Orphaned<Allocator<kCacheList | kHeaps, Fault::kReapsOutOfFlight>>;
  EXPECT_TRUE(is_seen<State>({kForkInChild<State>, kReap<State>}, 3, kNoCheck<State>));
}

}  // namespace
}  // namespace snug::schedule
