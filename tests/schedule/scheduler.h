// Scheduler: one run of a test after the other, each thread on a fiber of its own. A thread runs until its next
// operation on shared memory; there the scheduler asks the search which thread goes on, and that one does its operation
// and runs on.
//
// What touches a thread's own state alone is no step: a store that goes to its buffer, fences other than seq_cst,
// accesses to plain data. For the last the race check answers: data without races reads the same in every order.
//
// With a bound on preemptions, a pending store lands only where that can matter: right before a step
// of another thread, or another landing, that touches its location, or once nothing else can come. Any run can be
// brought into that form by moving each landing to the right past its independent neighbours, which changes no
// preemption.
//
// Only one scheduler exists at a time, and it belongs to the thread of the OS that made it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fiber.h"
#include "memory.h"
#include "operation.h"
#include "search.h"
#include "weakening.h"

namespace snug::schedule {

enum class Verdict : uint8_t {
  kPassed,
  kRequirement,  // require() of something false
  kRace,         // plain data without "happens before", or an atomic outside its life
  kDeadlock,     // all that have not ended wait
  kLivelock,     // too many steps
  kLimit,        // more atomics than kMaxLocations
  kConfused,     // the test does something else when it is repeated
  kUnfinished,   // too many schedules
};

// What is run: begin() makes the state anew, run(thread) is a thread's body, check() comes when all have ended, end()
// destroys the state.
class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual unsigned threads() const = 0;
  virtual void begin() = 0;
  virtual void run(unsigned thread) = 0;
  virtual void check() = 0;
  virtual void end() = 0;
};

// Of a plain variable: which thread wrote it last, and when each thread has read it.
struct Accesses {
  uint32_t number = 0;
  uint32_t written_at = 0;
  uint8_t writer = Memory::kNobody;
  std::array<uint32_t, kMaxThreads> read_at{};
};

class Scheduler {
 public:
  static constexpr int kUnbounded = -1;

  Scheduler(Scenario& scenario, MemoryModel model, unsigned max_steps);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // One run. False if it was given up, since it could only repeat another.
  bool run(Search& search, int preemptions, bool with_trace);
  // Of all further runs: notes each place with its orders, and does the operation at one place otherwise.
  void note_places(std::set<Place>& places) { places_ = &places; }
  void weaken(const Weakening& weakening) { weakening_ = weakening; }
  Verdict verdict() const { return verdict_; }
  int preemptions_taken() const { return preemptions_taken_; }
  const std::string& complaint() const { return complaint_; }
  const std::string& trace() const { return trace_; }

  // What follows is for the atomics of a test, on whichever thread runs. Outside explore() there is no scheduler, and
  // the program ends.
  static Scheduler& active();

  unsigned create(uint64_t value);
  void destroy(unsigned location);
  uint64_t load(Operation operation);
  void store(Operation operation, uint64_t value);
  // Replaces the value by change(value); returns the old one.
  template <class Change>
  uint64_t update(Operation operation, Change change);
  bool compare_exchange(Operation operation, uint64_t& expected, uint64_t value);
  void fence(Operation operation);
  void light_fence(Operation operation);
  void membarrier(Operation operation);
  void yield(const Operation& operation);
  void pause(const Operation& operation);
  void fork_to_child(const Operation& operation);
  void futex_wait(const Operation& operation, uint64_t expected, bool has_time);
  void futex_wake(const Operation& operation, int count);

  void made(Accesses& accesses);
  void read(Accesses& accesses, uint64_t shown);
  void write(Accesses& accesses, uint64_t shown);

  // The number of the thread that acts, as in the scenario's bodies.
  unsigned current() const { return current_; }

  // Ends the run; does not return.
  [[noreturn]] void fail(Verdict verdict, const std::string& complaint);

 private:
  struct Thread {
    Operation next;
    bool has_ended = false;
    bool is_woken = false;
    uint64_t asleep_since = 0;
  };
  struct Landed {
    uint8_t thread;
    uint8_t location;
  };

  static void enter_thread(void* self);
  static void enter_check(void* self);
  void start_threads();
  [[noreturn]] void leave(unsigned from, unsigned next);

  // The test's own frame acts, before or after all threads.
  bool is_alone() const { return current_ == Memory::kNobody; }
  bool is_enabled(unsigned thread) const;
  bool have_all_ended() const;

  void alter(Operation& operation);
  void come_to(const Operation& operation);
  void count_step();
  void check_life(unsigned location);
  uint64_t complete_update(const Operation& operation, uint64_t old, uint64_t value);
  unsigned next_thread();
  Candidates candidates() const;
  void forbid(Candidates& found) const;
  bool is_preemption(unsigned thread) const;
  bool is_landing_needed(size_t index, const Candidate& next) const;
  bool may_landing_matter(unsigned thread) const;
  bool is_stuck(const Candidates& found) const;
  unsigned end_run(Verdict verdict, const char* complaint);
  void land_one(unsigned thread);
  void say(const Operation& operation, const std::string& what);

  Scenario& scenario_;
  const unsigned count_;
  const unsigned max_steps_;
  Memory memory_;
  Search* search_ = nullptr;
  Fiber frame_;
  std::array<std::unique_ptr<Fiber>, kMaxThreads + 1> fibers_;  // the last one checks
  std::array<Thread, kMaxThreads> threads_;
  unsigned current_ = Memory::kNobody;
  bool is_on_fiber_ = false;
  bool is_starting_ = false;
  int preemptions_ = kUnbounded;  // that a run may take
  int preemptions_taken_ = 0;
  std::vector<Landed> landed_;  // since the latest step of a thread
  unsigned steps_ = 0;
  uint32_t variables_ = 0;
  uint64_t sleepers_ = 0;
  bool repeats_ = false;
  Verdict verdict_ = Verdict::kPassed;
  std::string complaint_;
  bool with_trace_ = false;
  std::string trace_;
  std::set<Place>* places_ = nullptr;
  std::optional<Weakening> weakening_;
};

template <class Change>
uint64_t Scheduler::update(Operation operation, Change change) {
  if (is_alone()) {
    const uint64_t old = memory_.peek(operation.location);
    memory_.poke(operation.location, change(old));
    return old;
  }
  alter(operation);
  come_to(operation);
  const uint64_t old = memory_.latest(current_, operation.location);
  return complete_update(operation, old, change(old));
}

}  // namespace snug::schedule
