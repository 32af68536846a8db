// Scheduler: the operations of the atomics, each a step where others can see it.
#include "base/atomic.h"
#include "scheduler.h"
#include "trace_text.h"

namespace snug::schedule {

void Scheduler::say(const Operation& operation, const std::string& what) {
  trace_ += trace_text::step(current_, operation, what);
}

unsigned Scheduler::create(uint64_t value) {
  const unsigned location = memory_.create(current_, value);
  if (location == kMaxLocations) fail(Verdict::kLimit, "more atomics than kMaxLocations");
  return location;
}

void Scheduler::destroy(unsigned location) {
  const char* const complaint = memory_.destroy(current_, location);
  if (complaint != nullptr && !is_alone()) fail(Verdict::kRace, complaint);
}

void Scheduler::check_life(unsigned location) {
  if (const char* const complaint = memory_.touch(current_, location)) fail(Verdict::kRace, complaint);
}

// Does what note_places() and weaken() ask for.
void Scheduler::alter(Operation& operation) {
  if (places_ != nullptr) places_->insert(Place(operation));
  if (weakening_.has_value() && weakening_->place == Place(operation)) operation = weakening_->applied_to(operation);
}

uint64_t Scheduler::load(Operation operation) {
  if (is_alone()) return memory_.peek(operation.location);
  alter(operation);
  come_to(operation);
  check_life(operation.location);
  const uint64_t value = memory_.load(current_, operation.location, operation.order);
  if (with_trace_) say(operation, trace_text::number(value));
  return value;
}

void Scheduler::store(Operation operation, uint64_t value) {
  if (is_alone()) return memory_.poke(operation.location, value);
  alter(operation);
  const bool is_step = memory_.model() != MemoryModel::kStoreBuffers || operation.order == kSeqCst;
  is_step ? come_to(operation) : count_step();
  check_life(operation.location);
  memory_.store(current_, operation.location, value, operation.order);
  if (with_trace_) say(operation, trace_text::number(value));
}

uint64_t Scheduler::complete_update(const Operation& operation, uint64_t old, uint64_t value) {
  check_life(operation.location);
  memory_.replace(current_, operation.location, value, operation.order);
  if (with_trace_) say(operation, trace_text::number(old) + " -> " + trace_text::number(value));
  return old;
}

bool Scheduler::compare_exchange(Operation operation, uint64_t& expected, uint64_t value) {
  if (is_alone()) {
    const uint64_t old = memory_.peek(operation.location);
    const bool is_equal = old == expected;
    if (is_equal) memory_.poke(operation.location, value);
    expected = old;
    return is_equal;
  }
  alter(operation);
  come_to(operation);
  check_life(operation.location);
  const uint64_t wanted = expected;
  if (!memory_.compare(current_, operation.location, expected, operation.failure)) {
    if (with_trace_) say(operation, "has " + trace_text::number(expected) + ", not " + trace_text::number(wanted));
    return false;
  }
  memory_.replace(current_, operation.location, value, operation.order);
  if (with_trace_) say(operation, trace_text::number(wanted) + " -> " + trace_text::number(value));
  return true;
}

void Scheduler::fence(Operation operation) {
  if (is_alone()) return;
  alter(operation);
  const bool is_strong = operation.order == kSeqCst;
  const bool is_step = is_strong && (memory_.model() == MemoryModel::kViews || memory_.has_pending(current_));
  is_step ? come_to(operation) : count_step();
  memory_.fence(current_, operation.order);
  if (with_trace_) say(operation, "");
}

void Scheduler::light_fence(Operation operation) {
  if (is_alone()) return;
  alter(operation);
  if (operation.kind != Kind::kLightFence) return fence(operation);
  come_to(operation);
  memory_.light_fence(current_);
  if (with_trace_) say(operation, "");
}

void Scheduler::membarrier(Operation operation) {
  if (is_alone()) return;
  alter(operation);
  if (operation.kind != Kind::kMembarrier) return fence(operation);
  come_to(operation);
  memory_.membarrier(current_);
  if (with_trace_) say(operation, "");
}

void Scheduler::yield(const Operation& operation) {
  if (is_alone()) return;
  come_to(operation);
  memory_.end_yield(current_);
  if (with_trace_) say(operation, "");
}

void Scheduler::pause(const Operation& operation) {
  if (is_alone()) return;
  come_to(operation);
  memory_.end_pause(current_);
  if (with_trace_) say(operation, "");
}

void Scheduler::fork_to_child(const Operation& operation) {
  if (is_alone()) return;
  come_to(operation);
  memory_.fence(current_, kSeqCst);
  for (unsigned thread = 0; thread < count_; ++thread) {
    if (thread == current_) continue;
    threads_[thread].has_ended = true;
    threads_[thread].asleep_since = 0;
    memory_.forget_pending(thread);
  }
  if (with_trace_) say(operation, "");
}

// A system call: it empties the store buffer and is a full fence. The thread that is woken was asleep longest.
void Scheduler::futex_wait(const Operation& operation, uint64_t expected, bool has_time) {
  if (is_alone()) fail(Verdict::kDeadlock, "the test's own frame waits");
  come_to(operation);
  check_life(operation.location);
  const bool sleeps = memory_.load_in_kernel(current_, operation.location) == expected;
  if (with_trace_) say(operation, sleeps ? "sleeps" : "need not");
  if (!sleeps) return;
  Thread& self = threads_[current_];
  self.is_woken = false;
  self.asleep_since = ++sleepers_;
  Operation woken = operation;
  woken.kind = has_time ? Kind::kFutexTimed : Kind::kFutexWoken;
  come_to(woken);
  self.asleep_since = 0;
  if (with_trace_) say(woken, "");
}

void Scheduler::futex_wake(const Operation& operation, int count) {
  if (is_alone()) return;
  come_to(operation);
  check_life(operation.location);
  memory_.fence(current_, kSeqCst);
  if (with_trace_) say(operation, "");
  for (; count > 0; --count) {
    Thread* longest = nullptr;
    for (Thread& thread : threads_) {
      const bool sleeps = thread.next.kind == Kind::kFutexWoken || thread.next.kind == Kind::kFutexTimed;
      const bool can_be_woken =
          thread.asleep_since != 0 && !thread.is_woken && sleeps && thread.next.location == operation.location;
      if (can_be_woken && (longest == nullptr || thread.asleep_since < longest->asleep_since)) longest = &thread;
    }
    if (longest == nullptr) return;
    longest->is_woken = true;
  }
}

// -- plain data -----------------------------------------------------------------------------------------------------

void Scheduler::made(Accesses& accesses) {
  accesses = {};
  accesses.number = variables_++;
  accesses.writer = static_cast<uint8_t>(current_);
  accesses.written_at = is_alone() ? 0 : memory_.view(current_).clock[current_];
}

void Scheduler::read(Accesses& accesses, uint64_t shown) {
  if (is_alone()) return;
  count_step();
  const auto& clock = memory_.view(current_).clock;
  if (with_trace_) trace_ += trace_text::plain(current_, "reads", accesses.number, shown);
  if (accesses.writer != Memory::kNobody && accesses.written_at > clock[accesses.writer]) {
    fail(Verdict::kRace, "race: thread " + std::to_string(current_) + " reads v" + std::to_string(accesses.number) +
                             ", and what thread " + std::to_string(accesses.writer) +
                             " wrote to it does not happen before");
  }
  accesses.read_at[current_] = clock[current_];
}

void Scheduler::write(Accesses& accesses, uint64_t shown) {
  if (is_alone()) return;
  count_step();
  const auto& clock = memory_.view(current_).clock;
  if (with_trace_) trace_ += trace_text::plain(current_, "writes", accesses.number, shown);
  const auto complain = [&](unsigned other, const char* what) {
    fail(Verdict::kRace, "race: thread " + std::to_string(current_) + " writes v" + std::to_string(accesses.number) +
                             ", and what thread " + std::to_string(other) + " " + what + " does not happen before");
  };
  if (accesses.writer != Memory::kNobody && accesses.written_at > clock[accesses.writer]) {
    complain(accesses.writer, "wrote to it");
  }
  for (unsigned other = 0; other < count_; ++other) {
    if (accesses.read_at[other] > clock[other]) complain(other, "read from it");
  }
  accesses.writer = static_cast<uint8_t>(current_);
  accesses.written_at = clock[current_];
}

}  // namespace snug::schedule
