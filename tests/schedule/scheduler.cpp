#include "scheduler.h"

#include <cstdio>
#include <cstdlib>

#include "trace_text.h"

namespace snug::schedule {

namespace {
constexpr size_t kStackBytes = size_t{256} << 10;
constexpr const char* kTooManySteps =
    "livelock, or a loop that never calls cpu_relax(): more than Options::max_steps steps";
constexpr const char* kNotRepeatable = "the test depends on more than its schedule: it cannot be repeated";
Scheduler* active_scheduler = nullptr;
}  // namespace

Scheduler::Scheduler(Scenario& scenario, MemoryModel model, unsigned max_steps)
    : scenario_(scenario), count_(scenario.threads()), max_steps_(max_steps), memory_(model) {
  if (count_ > kMaxThreads || active_scheduler != nullptr) std::abort();
  for (auto& fiber : fibers_) fiber = std::make_unique<Fiber>(kStackBytes);
  active_scheduler = this;
}

Scheduler::~Scheduler() { active_scheduler = nullptr; }

Scheduler& Scheduler::active() {
  if (active_scheduler == nullptr) {
    std::fputs("schedule: an atomic of ScheduledAtomics is used outside explore()\n", stderr);
    std::abort();
  }
  return *active_scheduler;
}

// -- a run ----------------------------------------------------------------------------------------------------------

bool Scheduler::run(Search& search, int preemptions, bool with_trace) {
  search_ = &search;
  search.restart();
  memory_.restart(count_, search);
  threads_ = {};
  current_ = Memory::kNobody;
  preemptions_ = preemptions;
  preemptions_taken_ = 0;
  landed_.clear();
  steps_ = variables_ = 0;
  sleepers_ = 0;
  repeats_ = false;
  verdict_ = Verdict::kPassed;
  complaint_.clear();
  with_trace_ = with_trace;
  trace_.clear();

  scenario_.begin();
  is_on_fiber_ = true;
  start_threads();
  if (verdict_ == Verdict::kPassed) {
    current_ = Memory::kNobody;
    const unsigned first = next_thread();
    if (first != Memory::kNobody) {
      current_ = first;
      Fiber::switch_between(frame_, *fibers_[first]);
    }
  }
  current_ = Memory::kNobody;
  if (verdict_ == Verdict::kPassed && !repeats_) {
    fibers_[kMaxThreads]->restart(enter_check, this);
    Fiber::switch_between(frame_, *fibers_[kMaxThreads]);
  }
  is_on_fiber_ = false;
  if (search.has_asked_too_little()) end_run(Verdict::kConfused, kNotRepeatable);
  scenario_.end();
  return !repeats_;
}

// Each thread goes as far as its first step.
void Scheduler::start_threads() {
  is_starting_ = true;
  for (unsigned thread = 0; thread < count_ && verdict_ == Verdict::kPassed; ++thread) {
    current_ = thread;
    fibers_[thread]->restart(enter_thread, this);
    Fiber::switch_between(frame_, *fibers_[thread]);
  }
  is_starting_ = false;
}

void Scheduler::enter_thread(void* self) {
  auto& scheduler = *static_cast<Scheduler*>(self);
  scheduler.scenario_.run(scheduler.current_);
  const unsigned ended = scheduler.current_;
  scheduler.threads_[ended].has_ended = true;
  scheduler.leave(ended, scheduler.is_starting_ ? Memory::kNobody : scheduler.next_thread());
}

void Scheduler::enter_check(void* self) {
  auto& scheduler = *static_cast<Scheduler*>(self);
  scheduler.scenario_.check();
  scheduler.leave(kMaxThreads, Memory::kNobody);
}

// The fiber `from` has nothing more to do; nobody is the program's own frame.
void Scheduler::leave(unsigned from, unsigned next) {
  current_ = next;
  Fiber::switch_between(*fibers_[from], next == Memory::kNobody ? frame_ : *fibers_[next]);
  std::abort();
}

void Scheduler::fail(Verdict verdict, const std::string& complaint) {
  if (!is_on_fiber_) {
    std::fprintf(stderr, "schedule: outside any thread: %s\n", complaint.c_str());
    std::abort();
  }
  end_run(verdict, complaint.c_str());
  leave(is_alone() ? kMaxThreads : current_, Memory::kNobody);
}

unsigned Scheduler::end_run(Verdict verdict, const char* complaint) {
  verdict_ = verdict;
  complaint_ = complaint;
  return Memory::kNobody;
}

// -- the choice of the next thread ----------------------------------------------------------------------------------

// Before an operation: returns when this thread is to do it.
void Scheduler::come_to(const Operation& operation) {
  const unsigned self = current_;
  threads_[self].next = operation;
  const unsigned next = is_starting_ ? Memory::kNobody : next_thread();
  if (next != self) {
    current_ = next;
    Fiber::switch_between(*fibers_[self], next == Memory::kNobody ? frame_ : *fibers_[next]);
  }
}

// What no decision precedes counts as well, so that no loop is without end.
void Scheduler::count_step() {
  if (++steps_ > max_steps_) fail(Verdict::kLivelock, kTooManySteps);
}

// Lets pending stores land until a thread goes on. Returns that thread, or nobody if the run is over.
unsigned Scheduler::next_thread() {
  while (true) {
    if (++steps_ > max_steps_) return end_run(Verdict::kLivelock, kTooManySteps);
    Candidates found = candidates();
    if (found.count == 0 && have_all_ended()) return Memory::kNobody;
    if (preemptions_ != kUnbounded) forbid(found);
    if (is_stuck(found)) return end_run(Verdict::kDeadlock, "deadlock: all threads that have not ended wait");
    const int step = search_->choose(found);
    if (search_->is_confused()) {
      return end_run(Verdict::kConfused, kNotRepeatable);
    }
    if (step == Search::kRepeats) {
      repeats_ = true;
      return Memory::kNobody;
    }
    if (step >= kLand) {
      land_one(static_cast<unsigned>(step) - kLand);
      continue;
    }
    const auto thread = static_cast<unsigned>(step);
    if (is_preemption(thread)) ++preemptions_taken_;
    landed_.clear();
    return thread;
  }
}

bool Scheduler::have_all_ended() const {
  for (unsigned thread = 0; thread < count_; ++thread) {
    if (!threads_[thread].has_ended) return false;
  }
  return true;
}

bool Scheduler::is_enabled(unsigned thread) const {
  const Thread& asked = threads_[thread];
  if (asked.has_ended) return false;
  if (asked.next.kind == Kind::kYield) return memory_.yield_is_over(thread);
  if (asked.next.kind == Kind::kPause) return memory_.pause_is_over(thread);
  return asked.next.kind != Kind::kFutexWoken || asked.is_woken;
}

// All that can come, the present thread first: so the first run of all has no preemption.
Candidates Scheduler::candidates() const {
  Candidates found;
  const auto add_thread = [&](unsigned thread) {
    if (is_enabled(thread)) found.add(thread, memory_.footprint(thread, threads_[thread].next));
  };
  if (!is_alone()) add_thread(current_);
  for (unsigned thread = 0; thread < count_; ++thread) {
    if (thread != current_) add_thread(thread);
  }
  for (unsigned thread = 0; thread < count_; ++thread) {
    if (!memory_.has_pending(thread)) continue;
    Footprint footprint;
    footprint.writes |= uint64_t{1} << memory_.oldest_pending(thread);
    found.add(kLand + thread, footprint);
  }
  return found;
}

bool Scheduler::is_preemption(unsigned thread) const {
  if (is_alone() || thread == current_ || !is_enabled(current_)) return false;
  const Kind next = threads_[current_].next.kind;
  return next != Kind::kYield && next != Kind::kPause && next != Kind::kFutexTimed;
}

// No thread can go on, and no pending store would change that.
bool Scheduler::is_stuck(const Candidates& found) const {
  if (have_all_ended()) return false;
  for (unsigned i = 0; i < found.count; ++i) {
    const uint8_t step = found.items[i].step;
    if (step < kLand || may_landing_matter(step - kLand)) return false;
  }
  return true;
}

void Scheduler::land_one(unsigned thread) {
  const unsigned location = memory_.oldest_pending(thread);
  landed_.push_back({static_cast<uint8_t>(thread), static_cast<uint8_t>(location)});
  memory_.land_one(thread);
  if (with_trace_) trace_ += trace_text::landed(thread, location, memory_.peek(location));
}

// -- with a bound: what need not come -------------------------------------------------------------------------------

void Scheduler::forbid(Candidates& found) const {
  const bool is_end = have_all_ended();
  bool matters = false;
  for (unsigned thread = 0; thread < count_; ++thread) matters = matters || may_landing_matter(thread);
  for (unsigned i = 0; i < found.count; ++i) {
    Candidate& candidate = found.items[i];
    if (candidate.step < kLand) {
      candidate.allowed = preemptions_taken_ < preemptions_ || !is_preemption(candidate.step);
      for (size_t k = 0; k < landed_.size(); ++k) candidate.allowed &= is_landing_needed(k, candidate);
    } else if (is_end && !matters) {
      candidate.allowed = i == 0;  // the last stores of all, no two to one location: in any order
    } else {
      candidate.allowed = is_end || may_landing_matter(candidate.step - kLand);
      // Of two neighbours that are independent the lower thread comes first.
      if (!landed_.empty()) {
        const Landed& last = landed_.back();
        const unsigned thread = candidate.step - kLand;
        candidate.allowed &= thread >= last.thread || memory_.oldest_pending(thread) == last.location;
      }
    }
  }
}

// Whether the landing could not as well come after the later ones and then `next`.
bool Scheduler::is_landing_needed(size_t index, const Candidate& next) const {
  const Landed& landed = landed_[index];
  for (size_t later = index + 1; later < landed_.size(); ++later) {
    if (landed_[later].thread == landed.thread || landed_[later].location == landed.location) return true;
  }
  if (next.step == landed.thread) return false;
  const uint64_t location = uint64_t{1} << landed.location;
  if (threads_[next.step].next.kind != Kind::kMembarrier) {
    return ((next.footprint.reads | next.footprint.writes) & location) != 0;
  }
  // It lands this thread's as well; but other stores to the location could come before.
  for (unsigned thread = 0; thread < count_; ++thread) {
    if (thread != landed.thread && (memory_.pending_locations(thread) & location) != 0) return true;
  }
  return false;
}

// Whether another thread's next step, or a pending store of another, touches what this thread's pending stores do.
bool Scheduler::may_landing_matter(unsigned thread) const {
  const uint64_t mine = memory_.pending_locations(thread);
  if (mine == 0) return false;
  for (unsigned other = 0; other < count_; ++other) {
    if (other == thread) continue;
    uint64_t theirs = memory_.pending_locations(other);
    const Operation& next = threads_[other].next;
    if (!threads_[other].has_ended && next.kind != Kind::kMembarrier) {
      const Footprint footprint = memory_.footprint(other, next);
      theirs |= footprint.reads | footprint.writes;
    }
    if ((mine & theirs) != 0) return true;
  }
  return false;
}

}  // namespace snug::schedule
