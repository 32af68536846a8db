// Player: carries out the commands of the stage, each run in the thread of its lane.
//
//   a thread's commands are done in their order;   turns pass one after the other;
//   an awaited command is done before what awaits it
//
// The Subject is what is under test: an allocator (replay/subject.h), or a heap that is no malloc
// (replay/component_subject.h). The player allocates nothing itself; the C library does for each thread that
// starts.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "replay/clock.h"
#include "replay/futex.h"
#include "replay/stage.h"
#include "trace/operation.h"

namespace snug::replayer {

using trace::Operation;

inline constexpr std::size_t kStackBytes = std::size_t{256} << 10;
// Steps of a wait for another thread: as a rule it is running, unless there are fewer processors than threads.
inline constexpr int kPauses = 200;
inline constexpr int kYields = 100;
inline constexpr long kNapNanoseconds = 50'000;
// Nanoseconds of its thread's that mallinfo2 may take beside a tenth of what was played.
inline constexpr std::uint64_t kForMallinfo = 3'000'000'000;

// Tells the processor that the thread waits.
inline void pause_processor() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class Condition>
void wait_until(Condition condition) {
  for (int i = 0; i < kPauses; ++i) {
    if (condition()) return;
    pause_processor();
  }
  for (int i = 0; i < kYields; ++i) {
    if (condition()) return;
    sched_yield();
  }
  const timespec nap = {.tv_sec = 0, .tv_nsec = kNapNanoseconds};
  while (!condition()) nanosleep(&nap, nullptr);
}

// Makes the call, and counts the ticks that it took.
template <class Call>
auto timed(TickHistogram& row, Call call) {
  const std::uint64_t begin = ticks_before();
  const auto result = call();
  row.add(ticks_behind() - begin);
  return result;
}

// Touches the memory so that it is backed, and no window has its faults. No other thread uses it meanwhile.
inline void back(volatile void* memory, std::size_t bytes) {
  auto* const begin = static_cast<volatile std::uint8_t*>(memory);
  for (std::size_t i = 0; i < bytes; i += kPage) begin[i] = begin[i];
  if (bytes != 0) begin[bytes - 1] = begin[bytes - 1];
}

inline std::size_t alignment_of(const Command& command, std::uint64_t told) {
  const unsigned mark = command.mark & kAlignmentMask;
  if (mark == kToldAlignment) return told;
  return mark == 0 ? 0 : std::size_t{1} << (mark - 1);
}

template <class Subject>
class Player {
 public:
  Player(Stage& stage, Subject& subject) : stage_(stage), subject_(subject) {}

  // Runs in the first thread until `snug replay` has no more windows.
  void play();

 private:
  // The main function of a thread of the trace, for its lane.
  static void* play_lane(void* lane);
  void wait_for_window(Lane& lane, std::uint32_t& seen) const;
  // False if the thread is to end.
  bool play_run(Lane& lane);
  void start_clock();
  void end_run();
  void read_mallinfo();

  void direct(const Command& command);
  void spawn(std::uint32_t lane);
  void keep_turn(std::uint64_t turn);
  void await(std::uint32_t run, std::uint64_t commands);
  void await_time(std::uint64_t nanoseconds) const;

  void perform(const Command& command, std::uint64_t told, TickHistogram* rows);
  void allocate(const Command& command, std::size_t alignment, TickHistogram& row);
  void reallocate(const Command& command, std::uint64_t size_before, TickHistogram& row);
  void free(const Command& command, std::size_t alignment, TickHistogram& row);
  // The block in the slot; null if it holds none.
  void* block_in(std::uint32_t slot);
  void put(std::uint32_t slot, void* block, std::size_t size);
  void touch(void* block, std::size_t from, std::size_t to) const;
  void write_told(void* block, const Command& command, std::size_t from) const;

  Stage& stage_;
  Subject& subject_;
  std::uint64_t mallinfo_took_ = 0;                   // nanoseconds; of the thread that has the stage for itself
  static inline constinit Player* player_ = nullptr;  // a thread gets one pointer, its lane
};

template <class Subject>
void Player<Subject>::play() {
  player_ = this;
  Lane& lane = stage_.lanes[0];
  std::uint32_t seen = kNoWindow;
  for (;;) {
    wait_for_window(lane, seen);
    if (stage_.is_over.load(std::memory_order_acquire) != 0) return;
    play_run(lane);
  }
}

template <class Subject>
void* Player<Subject>::play_lane(void* argument) {
  auto& lane = *static_cast<Lane*>(argument);
  std::uint32_t seen = kNoWindow;
  do player_->wait_for_window(lane, seen);
  while (player_->play_run(lane));
  return nullptr;
}

template <class Subject>
void Player<Subject>::wait_for_window(Lane& lane, std::uint32_t& seen) const {
  std::uint32_t window;
  while ((window = lane.window.load(std::memory_order_acquire)) == seen) wait_while(lane.window, seen);
  seen = window;
}

template <class Subject>
bool Player<Subject>::play_run(Lane& lane) {
  start_clock();
  std::atomic<std::uint32_t>& progress = stage_.progress[lane.run].commands;
  TickHistogram* const rows = stage_.histograms[&lane - stage_.lanes];
  const Command* const commands = stage_.commands + lane.begin;
  const std::uint32_t count = lane.end - lane.begin;
  std::uint64_t told = 0;
  bool goes_on = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Command& command = commands[i];
    if (command.code < kFirstDirection) {
      perform(command, told, rows);
      told = 0;
    } else if (command.code == static_cast<std::uint8_t>(Direction::kTold)) {
      told = command.size;
    } else if (command.code == static_cast<std::uint8_t>(Direction::kIdle)) {
      timed(rows[command.row], [] { return 0; });
    } else if (command.code == static_cast<std::uint8_t>(Direction::kEnd)) {
      goes_on = false;
      // The lane's next thread may read the lane before its window is set, and must not take this window for it.
      lane.window.store(kNoWindow, std::memory_order_relaxed);
    } else {
      direct(command);
    }
    progress.store(i + 1, std::memory_order_release);
  }
  end_run();
  return goes_on;
}

template <class Subject>
void Player<Subject>::start_clock() {
  ClockState stopped = ClockState::kStopped;
  if (!stage_.clock.compare_exchange_strong(stopped, ClockState::kStarting, std::memory_order_relaxed)) return;
  stage_.start = moment_now();
  stage_.clock.store(ClockState::kRuns, std::memory_order_release);
}

// The thread that ends the last run of the window has the stage for itself.
template <class Subject>
void Player<Subject>::end_run() {
  if (stage_.left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  stage_.end = moment_now();
  read_mallinfo();
  stage_.has_snug = subject_.read_snug(stage_.snug);
  stage_.steers_background = steers_background();
  const std::uint64_t one = 1;
  while (write(stage_.bell, &one, sizeof one) < 0) {
  }
}

// mallinfo2 goes through all free blocks of some allocators: it is asked at every window only where that is cheap.
template <class Subject>
void Player<Subject>::read_mallinfo() {
  stage_.has_mallinfo = false;
  const std::uint64_t played = stage_.played + stage_.end.nanoseconds - stage_.start.nanoseconds;
  if (mallinfo_took_ > kForMallinfo + played / 10) return;
  const std::uint64_t before = nanoseconds_by(CLOCK_THREAD_CPUTIME_ID);
  stage_.has_mallinfo = subject_.read_mallinfo(stage_.mallinfo);
  mallinfo_took_ += nanoseconds_by(CLOCK_THREAD_CPUTIME_ID) - before;
}

template <class Subject>
void Player<Subject>::direct(const Command& command) {
  switch (static_cast<Direction>(command.code)) {
    case Direction::kSpawn:
      return spawn(command.slot);
    case Direction::kTurn:
      return keep_turn(command.size);
    case Direction::kAwait:
      return await(command.slot, command.size);
    case Direction::kUntil:
      return await_time(command.size);
    case Direction::kSkip:
      return skip_to(command.size);
    case Direction::kReserve:
      back(stage_.slots, command.slot * sizeof stage_.slots[0]);
      return back(stage_.commands, command.size * sizeof stage_.commands[0]);
    case Direction::kReserveRow:
      return back(&stage_.histograms[command.slot][command.size], sizeof(TickHistogram));
    default:
      return;
  }
}

template <class Subject>
void Player<Subject>::spawn(std::uint32_t lane) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  subject_.expect_threads();
  const int error = pthread_create(&thread, &attributes, play_lane, &stage_.lanes[lane]);
  pthread_attr_destroy(&attributes);
  if (error == 0) return;
  // Other threads would wait for its run for ever.
  stage_.failed_threads.fetch_add(1, std::memory_order_relaxed);
  _exit(1);
}

template <class Subject>
void Player<Subject>::keep_turn(std::uint64_t turn) {
  wait_until([&] { return stage_.turn.load(std::memory_order_acquire) == turn; });
  stage_.turn.store(static_cast<std::uint32_t>(turn) + 1, std::memory_order_release);
}

template <class Subject>
void Player<Subject>::await(std::uint32_t run, std::uint64_t commands) {
  const std::atomic<std::uint32_t>& progress = stage_.progress[run].commands;
  wait_until([&] { return progress.load(std::memory_order_acquire) >= commands; });
}

// The recording's clock stops between windows, and then continues.
template <class Subject>
void Player<Subject>::await_time(std::uint64_t nanoseconds) const {
  if (nanoseconds <= stage_.played) return;
  wait_until([&] { return stage_.clock.load(std::memory_order_acquire) == ClockState::kRuns; });
  const std::uint64_t at = stage_.start.nanoseconds + (nanoseconds - stage_.played);
  const timespec until = {.tv_sec = static_cast<time_t>(at / 1'000'000'000),
                          .tv_nsec = static_cast<long>(at % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

template <class Subject>
void Player<Subject>::perform(const Command& command, std::uint64_t told, TickHistogram* rows) {
  TickHistogram& row = rows[command.row];
  const auto operation = static_cast<Operation>(command.code);
  switch (trace::traits_of(operation).effect) {
    case trace::Effect::kAllocates:
    case trace::Effect::kFinds:
      return allocate(command, alignment_of(command, told), row);
    case trace::Effect::kReallocates:
      return reallocate(command, told, row);
    case trace::Effect::kFrees:
      return free(command, alignment_of(command, told), row);
    case trace::Effect::kNothing:
      break;
  }
  if (operation == Operation::kTouched) {
    if (void* const block = block_in(command.slot); block != nullptr) write_told(block, command, told);
  } else if (operation == Operation::kTrim) {
    timed(row, [&] { return subject_.trim(command.size), 0; });
  } else {
    void* const block = block_in(command.slot);
    timed(row, [&] { return subject_.usable_size(block); });
  }
}

template <class Subject>
void Player<Subject>::allocate(const Command& command, std::size_t alignment, TickHistogram& row) {
  const auto operation = static_cast<Operation>(command.code);
  void* const block = timed(row, [&] { return subject_.allocate(operation, command.size, alignment); });
  if ((command.mark & kRefused) != 0) {
    if (block != nullptr) subject_.free(Operation::kFree, block, command.size, alignment);
    return;
  }
  put(command.slot, block, command.size);
  if (block != nullptr && (command.mark & kUntouched) == 0) touch(block, 0, command.size);
}

template <class Subject>
void Player<Subject>::reallocate(const Command& command, std::uint64_t size_before, TickHistogram& row) {
  const auto operation = static_cast<Operation>(command.code);
  const bool is_refused = (command.mark & kRefused) != 0;
  void* const block = (command.mark & kFromNull) != 0 ? nullptr : block_in(command.slot);
  void* const moved = timed(row, [&] { return subject_.reallocate(operation, block, size_before, command.size); });
  if (is_refused && (command.size == 0 || block == nullptr)) {
    // The call returned no block, and the old block was freed.
    if (moved != nullptr) subject_.free(Operation::kFree, moved, command.size, 0);
    if (block != nullptr) stage_.slots[command.slot].store(kEmpty, std::memory_order_relaxed);
  } else if (is_refused) {
    if (moved != nullptr) put(command.slot, moved, command.size);
  } else {
    put(command.slot, moved, command.size);
    if (moved != nullptr && (command.mark & kUntouched) == 0) touch(moved, size_before, command.size);
  }
}

template <class Subject>
void Player<Subject>::free(const Command& command, std::size_t alignment, TickHistogram& row) {
  const auto operation = static_cast<Operation>(command.code);
  void* block = nullptr;
  if (command.slot != kNoSlot) {
    block = block_in(command.slot);
    stage_.slots[command.slot].store(kEmpty, std::memory_order_relaxed);
    if (block == nullptr) return;
  }
  timed(row, [&] { return subject_.free(operation, block, command.size, alignment), 0; });
}

template <class Subject>
void* Player<Subject>::block_in(std::uint32_t slot) {
  if (slot == kNoSlot) return nullptr;
  const std::uint64_t word = stage_.slots[slot].load(std::memory_order_relaxed);
  if (word == kEmpty) stage_.order_faults.fetch_add(1, std::memory_order_relaxed);
  return word <= kFailed ? nullptr : reinterpret_cast<void*>(word);
}

template <class Subject>
void Player<Subject>::put(std::uint32_t slot, void* block, std::size_t size) {
  stage_.slots[slot].store(block == nullptr ? kFailed : reinterpret_cast<std::uintptr_t>(block),
                           std::memory_order_relaxed);
  if (block == nullptr && size != 0) stage_.failed_allocations.fetch_add(1, std::memory_order_relaxed);
}

template <class Subject>
void Player<Subject>::touch(void* block, std::size_t from, std::size_t to) const {
  if (stage_.touch == Touch::kNone || from >= to) return;
  const std::size_t count = stage_.touch == Touch::kAll ? to - from : from == 0 ? 1 : 0;
  subject_.write(block, from, count);
}

template <class Subject>
void Player<Subject>::write_told(void* block, const Command& command, std::size_t from) const {
  if ((command.mark & kByteAPage) == 0) return subject_.write(block, from, command.size);
  for (std::size_t at = 0; at < command.size; at += kPage) subject_.write(block, from + at, 1);
}

}  // namespace snug::replayer
