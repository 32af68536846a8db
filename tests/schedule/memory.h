// Memory: what the atomics of a test hold, as one of three models lets threads see it, and which accesses to plain data
// the declared memory orders put in an order ("happens before").
//
//   kSequential     every store is seen at once by all.
//   kStoreBuffers   x86-TSO. A thread's stores wait in a queue of its own and land in memory one by one, at any later
//   moment;
//                   its own loads see them there. Updates (exchange, fetch, compare_exchange), seq_cst stores, seq_cst
//                   fences and system calls empty it first.
//
//                     thread ──store──► │ oldest … newest │ ──lands──► location
//
//   kViews          C++'s own orders, no matter which processor. A location keeps all that was ever stored, in order; a
//                   thread's view says how old a value it may still read, acquire joins the view that a release
//                   published. A relaxed load may so read anything that nothing has made the thread see past. Not
//                   covered: loads that read a store from their future, and stores that come before older ones.
//
// In all three a view also holds the clocks of all threads, by which a race on plain data shows: only acquire, release
// and membarrier as declared join them, never what a processor would order besides.
//
// The light fence and membarrier() are an asymmetric pair. Membarrier is a full fence of its caller, and one in each
// other thread somewhere after that thread's latest light fence. A store that is not yet behind a light fence stays
// where it is, for the compiler may move it; and what the caller published is seen by the other thread at its next
// light fence.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "operation.h"
#include "search.h"

namespace snug::schedule {

enum class MemoryModel : uint8_t { kSequential, kStoreBuffers, kViews };

using SeenPart = std::array<uint16_t, 64>;

struct View {
  std::array<uint32_t, kMaxThreads> clock{};  // how far of each thread happens before now
  SeenPart seen{};                            // of each location the oldest value that may be read

  void join(const View& other);
};

void join_seen(SeenPart& mine, const SeenPart& other);

class Memory {
 public:
  explicit Memory(MemoryModel model) : model_(model) {}

  // Forgets all locations; the search chooses what a load reads. Threads are 0 to `threads` - 1; kNobody is the test's
  // own frame, which sets up before they begin and checks when they have ended.
  static constexpr unsigned kNobody = kMaxThreads;
  void restart(unsigned threads, Search& search);
  // For the frame: while no thread runs and no store is pending.
  uint64_t peek(unsigned location) const { return locations_[location].history.back().value; }
  void poke(unsigned location, uint64_t value) { locations_[location].history.back().value = value; }

  // kMaxLocations if there are that many already.
  unsigned create(unsigned thread, uint64_t value);
  // Before an access, and instead of one a destruction: what is wrong with it whatever it does, or null. Neither is a
  // step, so that both are judged by the clocks.
  const char* touch(unsigned thread, unsigned location);
  const char* destroy(unsigned thread, unsigned location);

  uint64_t load(unsigned thread, unsigned location, MemoryOrder order);
  void store(unsigned thread, unsigned location, uint64_t value, MemoryOrder order);
  // What the kernel reads for the thread, behind a full fence. The thread has seen it then.
  uint64_t load_in_kernel(unsigned thread, unsigned location);
  // An update is latest() and replace(), together one step.
  uint64_t latest(unsigned thread, unsigned location);
  void replace(unsigned thread, unsigned location, uint64_t value, MemoryOrder order);
  // The first half of a compare_exchange: whether the latest is `expected` and to be replaced. Else it has read like a
  // load, which need not be the latest, and stores what it read.
  bool compare(unsigned thread, unsigned location, uint64_t& expected, MemoryOrder failure);

  void fence(unsigned thread, MemoryOrder order);
  void light_fence(unsigned thread);
  void membarrier(unsigned thread);

  // Whether a thread that spins would see anything else than in its last round.
  bool yield_is_over(unsigned thread) const;
  void end_yield(unsigned thread);
  // Whether another thread has changed anything since this one's last pause.
  bool pause_is_over(unsigned thread) const { return threads_[thread].is_anything_new; }
  void end_pause(unsigned thread);

  bool has_pending(unsigned thread) const { return !threads_[thread].pending.empty(); }
  // The locations of the thread's pending stores.
  uint64_t pending_locations(unsigned thread) const;
  unsigned oldest_pending(unsigned thread) const { return threads_[thread].pending.front().location; }
  // The thread's oldest pending store lands.
  void land_one(unsigned thread);
  // The thread is gone, and so are they.
  void forget_pending(unsigned thread) { threads_[thread].pending.clear(); }
  Footprint footprint(unsigned thread, const Operation& next) const;

  const View& view(unsigned thread) const { return threads_[thread].current; }
  MemoryModel model() const { return model_; }

 private:
  struct Message {
    uint64_t value;
    View published;  // what a reader that acquires it sees
  };
  struct Location {
    std::vector<Message> history;  // the latest alone, except in kViews
    bool alive = false;
    uint8_t maker = 0;
    uint32_t made_at = 0;  // the maker's clock
    std::array<uint32_t, kMaxThreads> touched_at{};
  };
  struct PendingStore {
    uint8_t location;
    bool fixed;  // behind a light fence, so that a membarrier lands it
    uint64_t value;
    View published;
  };
  struct Thread {
    View current;
    View released;    // at its latest release fence: what its relaxed stores publish
    View to_acquire;  // what its relaxed loads have read, for its next acquire fence
    View light;       // at its latest light fence: what a membarrier takes from it
    View to_see;      // what membarriers bring, for its next light fence
    std::vector<PendingStore> pending;
    // Of the current round, since the latest yield: what it read, when that was, whether it has changed, and whether
    // the thread itself has written, so that the next round may differ anyway.
    uint64_t read = 0;
    std::array<uint16_t, 64> read_at{};
    bool stale = false;
    bool has_written = false;
    bool is_anything_new = false;  // since the latest pause

    void restart(unsigned self);
    void acquire(const View& published, MemoryOrder order);
  };

  bool has_views() const { return model_ == MemoryModel::kViews; }
  bool has_buffers() const { return model_ == MemoryModel::kStoreBuffers; }

  const PendingStore* newest_pending(const Thread& thread, unsigned location) const;
  unsigned newest(unsigned location) const { return static_cast<unsigned>(locations_[location].history.size()) - 1; }
  unsigned oldest_readable(const Thread& thread, unsigned location, MemoryOrder order) const;
  void observe(Thread& thread, unsigned location, unsigned index, MemoryOrder order);
  View publish(unsigned thread, MemoryOrder order);
  void put(unsigned thread, unsigned location, uint64_t value, const View& published);
  void see_own(Thread& thread, unsigned location, MemoryOrder order);
  // The first value after the one that the thread read which is another, or 0.
  unsigned next_difference(const Thread& thread, unsigned location) const;
  void land_all(unsigned thread);

  MemoryModel model_;
  Search* search_ = nullptr;
  std::array<Thread, kMaxThreads> threads_;
  unsigned count_ = 0;
  std::array<Location, kMaxLocations> locations_;
  unsigned location_count_ = 0;
  SeenPart seq_cst_{};  // in kViews: what the seq_cst operations so far have made visible to later ones
};

}  // namespace snug::schedule
