#include "replay_command/window_maker.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "text/user_error.h"

namespace snug::tool {

using replayer::Command;
using replayer::Direction;
using trace::BlockId;
using trace::Effect;
using trace::Event;
using trace::Operation;

namespace {

constexpr std::uint32_t kFirstThread = 1;
// What one event takes at most: a birth, a time, a wait, a turn, what is told, and the call.
constexpr std::size_t kStepsOfEvent = 10;
constexpr std::size_t kRunsOfEvent = 3;
// Sleeping takes about as long as that.
constexpr std::uint64_t kLeastSleep = 50'000 / trace::kNanosecondsPerStep;

// Sizes up to 2^n have class n + 1, those below 16 that of 16; size 0 has class 0.
std::size_t size_class_of(std::uint64_t size) {
  constexpr std::uint64_t kLeast = 16;
  return size == 0 ? 0 : static_cast<std::size_t>(std::bit_width(std::max(size, kLeast) - 1)) + 1;
}

std::uint8_t mark_of(std::uint64_t alignment) {
  if (alignment == 0) return 0;
  const auto mark = static_cast<std::uint8_t>(std::countr_zero(alignment) + 1);
  return std::has_single_bit(alignment) && mark < replayer::kToldAlignment ? mark : replayer::kToldAlignment;
}

// How the block of an allocation is allocated here. A block that was found is malloc's here, whatever it was before.
std::uint8_t form_of(const Event& event, std::uint8_t mark) {
  const bool has_own = event.operation == Operation::kFound || event.operation == Operation::kValloc ||
                       event.operation == Operation::kPvalloc || mark == replayer::kToldAlignment;
  return has_own ? SlotTable::kUntold : mark;
}

// What a free says of its block's size and alignment must be so here, or the allocator may take the block for another
// one; if it is not, the free is a plain one.
Event true_free(const Event& event, std::uint64_t size, std::uint8_t form) {
  const auto& fields = trace::traits_of(event.operation).fields;
  const bool tells_size = std::ranges::find(fields, trace::Field::kSize) != fields.end();
  const bool tells_alignment = std::ranges::find(fields, trace::Field::kAlignment) != fields.end();
  const bool is_so = form != SlotTable::kUntold && (!tells_size || event.size == size) &&
                     (!(tells_size || tells_alignment) || mark_of(event.alignment) == form);
  if (is_so) return event;
  Event plain = event;
  plain.operation = Operation::kFree;
  plain.size = plain.alignment = 0;
  return plain;
}

// Where to begin to write a byte in each OS page that the recording saw touched: behind `from` of a block of `size`
// bytes, up to `end`. Here the block begins elsewhere in its page. Written whole, the ends of two neighbours, which
// shared a page, would touch two; so of a page that the block shares the byte at the block's own end is written, and of
// others the middle one.
std::uint64_t first_written(std::uint64_t from, std::uint64_t end, std::uint64_t size) {
  if (from == 0) return 0;
  if (end == size) return from + (end - from - 1) % replayer::kPage;
  return std::min(from + replayer::kPage / 2, end - 1);
}

bool is_mapping(Operation operation) {
  return operation == Operation::kMap || operation == Operation::kUnmap || operation == Operation::kRemap ||
         operation == Operation::kBreak;
}

}  // namespace

WindowMaker::WindowMaker(TraceInput& input, const WindowOptions& options) : input_(input), options_(options) {
  rows_.emplace_back();
  threads_[kFirstThread];
}

bool WindowMaker::next(Window& window) {
  window = {};
  window_ = &window;
  ++number_;
  turns_ = 0;
  is_at_sample_ = false;
  const std::uint64_t first = events_;
  bool has_more = has_next();
  if (has_more) time_ = std::max(time_, next_.time);
  window.begin = time_;
  while (has_more && has_room() && !is_at_sample_ && events_ - first < options_.events &&
         (next_.time <= window.begin || next_.time - window.begin < options_.time)) {
    has_read_ = false;
    ++events_;
    time_ = std::max(time_, next_.time);
    take(next_);
    peak_bytes_ = std::max(peak_bytes_, slots_.live_bytes());
    has_more = has_next();
  }
  for (auto& [number, thread] : threads_) slots_.take_back(thread.freed);
  slots_.take_back(freed_by_ended_);
  free_lanes_.insert(free_lanes_.end(), left_lanes_.begin(), left_lanes_.end());
  left_lanes_.clear();
  window.events = events_;
  window.time = time_;
  window.live_bytes = slots_.live_bytes();
  window.live_blocks = slots_.live_blocks();
  window.threads = lanes_used_ - static_cast<std::uint32_t>(free_lanes_.size());
  return events_ != first;
}

bool WindowMaker::has_next() { return has_read_ || (has_read_ = input_.next(next_)); }

bool WindowMaker::has_room() const {
  return window_->steps.size() + kStepsOfEvent <= replayer::kMostCommands &&
         window_->runs.size() + kRunsOfEvent <= replayer::kMostRuns &&
         (!free_lanes_.empty() || lanes_used_ < replayer::kMostLanes || left_lanes_.empty());
}

void WindowMaker::take(const Event& event) {
  if (event.operation == Operation::kSample) return take_sample(event);
  if (event.operation == Operation::kThreadBegin && event.thread != kFirstThread) {
    keep_time(give_birth(event.thread, static_cast<std::uint32_t>(event.values[1])), event);
    return;
  }
  if (event.operation == Operation::kThreadEnd) return end_thread(event.thread);
  if (is_mapping(event.operation)) ++left_out_.mappings;
  if (event.operation == Operation::kLost) left_out_.lost += event.values[0];
  const bool is_call =
      event.effect() != Effect::kNothing || event.operation == Operation::kTrim || event.is_about_block();
  if (!is_call) return;
  Thread& thread = thread_of(event.thread);
  keep_time(thread, event);
  switch (event.effect()) {
    case Effect::kAllocates:
    case Effect::kFinds:
      return allocate(thread, event);
    case Effect::kReallocates:
      return reallocate(thread, event);
    case Effect::kFrees:
      return free(thread, event);
    case Effect::kNothing:
      return event.operation == Operation::kTouched ? touch(thread, event) : ask(thread, event);
  }
}

// The window ends with it, so that the replay is looked at where the recording was; with the last of those that the
// allocator has told of itself at one moment.
void WindowMaker::take_sample(const Event& event) {
  const std::uint64_t measure = event.values[0];
  if (measure == static_cast<std::uint64_t>(trace::Measure::kResident)) {
    window_->recorded_resident = event.values[1];
    window_->recorded_heap = std::exchange(recorded_heap_, std::nullopt);
    is_at_sample_ = true;
    keep_time(threads_[kFirstThread], event);  // though no thread calls
  } else if (measure == static_cast<std::uint64_t>(trace::Measure::kHeap)) {
    recorded_heap_ = event.values[1];
  } else if (trace::is_of_mallinfo(measure)) {
    recorded_fields_[trace::mallinfo_field(measure)] = event.values[1];
    if (measure != static_cast<std::uint64_t>(trace::Measure::kReleasableBytes)) return;
    window_->recorded = std::exchange(recorded_fields_, {});
    is_at_sample_ = true;
  }
}

// A stream may begin without its birth, as in a part of a trace.
WindowMaker::Thread& WindowMaker::thread_of(std::uint32_t number) {
  const auto found = threads_.find(number);
  return found != threads_.end() ? found->second : give_birth(number, kFirstThread);
}

WindowMaker::Thread& WindowMaker::give_birth(std::uint32_t number, std::uint32_t parent) {
  const auto living = threads_.find(number);
  if (living != threads_.end()) return living->second;
  if (free_lanes_.empty() && lanes_used_ == replayer::kMostLanes)
    throw UserError("snug replay: more than 8191 threads live at once, for which it has no room", EXIT_FAILURE);
  Thread thread;
  if (free_lanes_.empty()) {
    thread.lane = lanes_used_++;
  } else {
    thread.lane = free_lanes_.back();
    free_lanes_.pop_back();
  }
  const auto maker = threads_.find(parent);
  Thread& maker_thread = maker != threads_.end() ? maker->second : threads_[kFirstThread];
  direct(maker_thread, Direction::kTurn, 0, turns_++);
  direct(maker_thread, Direction::kSpawn, thread.lane, 0);
  ++threads_born_;
  Thread& born = threads_[number] = thread;
  direct(born, Direction::kBegin, 0, 0);
  return born;
}

// The first thread goes on, to start others.
void WindowMaker::end_thread(std::uint32_t number) {
  const auto found = threads_.find(number);
  if (number == kFirstThread || found == threads_.end()) return;
  Thread& thread = found->second;
  direct(thread, Direction::kTurn, 0, turns_++);
  direct(thread, Direction::kEnd, 0, 0);
  left_lanes_.push_back(thread.lane);
  freed_by_ended_.insert(freed_by_ended_.end(), thread.freed.begin(), thread.freed.end());
  threads_.erase(found);
}

void WindowMaker::allocate(Thread& thread, const Event& event) {
  keep_order(thread, event, std::nullopt);
  const BlockId block = event.effect() == Effect::kFinds ? event.block : event.result;
  std::uint8_t mark = mark_of(event.alignment);
  if (mark == replayer::kToldAlignment) direct(thread, Direction::kTold, 0, event.alignment);
  if (event.is_refused || slots_.find(block)) {
    // An identity that comes twice cannot be; the call was made all the same.
    if (!event.is_refused) ++left_out_.impossible;
    return call(thread, event, std::nullopt, event.size, mark | replayer::kRefused);
  }
  const std::uint32_t slot = slots_.add(block, event.size, form_of(event, mark), thread.freed);
  call(thread, event, slot, event.size, mark | mark_if_told(event.size));
}

void WindowMaker::reallocate(Thread& thread, const Event& event) {
  const std::optional<std::uint32_t> slot = slots_.find(event.block);
  if (event.block != BlockId::kNone && !slot) ++left_out_.impossible;
  keep_order(thread, event, slot);
  if (options_.tells_sizes && event.is_refused && event.size != 0) return;
  const std::uint8_t refused = (event.is_refused ? replayer::kRefused : 0) | mark_if_told(event.size);
  if (!slot) {
    const bool comes = !event.is_refused && !slots_.find(event.result);
    const auto given = comes ? std::optional(slots_.add(event.result, event.size, 0, thread.freed)) : std::nullopt;
    return call(thread, event, given, event.size,
                replayer::kFromNull | (comes ? mark_if_told(event.size) : replayer::kRefused));
  }
  const std::uint64_t size_before = slots_.size_in(*slot);
  if (options_.touch == replayer::Touch::kAll || options_.tells_sizes) direct(thread, Direction::kTold, 0, size_before);
  call(thread, event, slot, event.size, refused);
  if (!event.is_refused) {
    slots_.replace(event.block, event.result, event.size);
  } else if (event.size == 0) {
    slots_.remove(event.block, thread.freed);
  } else {
    slots_.writable(*slot) = std::min(slots_.writable(*slot), event.size);
    slots_.form(*slot) = SlotTable::kUntold;  // it may succeed now, and the block then has another size
  }
}

void WindowMaker::free(Thread& thread, const Event& event) {
  const std::optional<std::uint32_t> slot = slots_.find(event.block);
  if (event.block != BlockId::kNone && !slot) {
    ++left_out_.impossible;
    return;
  }
  keep_order(thread, event, slot);
  const std::uint64_t size = slot ? slots_.size_in(*slot) : 0;
  const Event told = slot ? true_free(event, size, slots_.form(*slot)) : event;
  const std::uint8_t mark = mark_of(told.alignment);
  if (mark == replayer::kToldAlignment) direct(thread, Direction::kTold, 0, told.alignment);
  call(thread, told, slot, size, mark);
  if (slot) slots_.remove(event.block, thread.freed);
}

// Of a block's size, or for memory to be given back.
void WindowMaker::ask(Thread& thread, const Event& event) {
  const std::optional<std::uint32_t> slot = slots_.find(event.block);
  if (event.block != BlockId::kNone && !slot) {
    ++left_out_.impossible;
    return;
  }
  keep_order(thread, event, slot);
  call(thread, event, slot, slot ? slots_.size_in(*slot) : 0, 0);
}

// Behind the last use of the block. Of small blocks, and where nothing is to be told, there is nothing to write.
void WindowMaker::touch(Thread& thread, const Event& event) {
  const std::optional<std::uint32_t> slot = slots_.find(event.block);
  if (!slot) {
    ++left_out_.impossible;
    return;
  }
  const std::uint64_t from = event.values[0];
  const std::uint64_t writable = slots_.writable(*slot);
  if (slots_.size_in(*slot) < options_.told_from || from >= writable) return;
  const std::uint64_t end = from + std::min(event.size, writable - from);
  if (end == from) return;
  keep_order(thread, event, slot);
  const bool is_whole = from == 0 && end == slots_.size_in(*slot);
  const std::uint64_t first = is_whole ? 0 : first_written(from, end, slots_.size_in(*slot));
  direct(thread, Direction::kTold, 0, first);
  add(thread, {.slot = *slot,
               .code = static_cast<std::uint8_t>(event.operation),
               .mark = is_whole ? std::uint8_t{0} : replayer::kByteAPage,
               .row = 0,
               .size = end - first});
  note_use(thread, *slot);
}

void WindowMaker::keep_time(Thread& thread, const Event& event) {
  if (options_.pace != Pace::kRecorded || event.time < thread.told_until + kLeastSleep) return;
  thread.told_until = event.time;
  direct(thread, Direction::kUntil, 0, event.time * trace::kNanosecondsPerStep);
}

void WindowMaker::keep_order(Thread& thread, const Event& event, std::optional<std::uint32_t> slot) {
  if (slot) {
    const SlotUse use = slots_.last_use(*slot);
    const bool was_here = thread.window == number_ && thread.run == use.run;
    if (use.window == number_ && !was_here) direct(thread, Direction::kAwait, use.run, use.commands);
  }
  if (event.takes_turn) direct(thread, Direction::kTurn, 0, turns_++);
}

void WindowMaker::call(Thread& thread, const Event& event, std::optional<std::uint32_t> slot,
                       std::uint64_t size_of_block, std::uint8_t mark) {
  ++window_->calls;
  add(thread, {.slot = slot.value_or(replayer::kNoSlot),
               .code = static_cast<std::uint8_t>(event.operation),
               .mark = mark,
               .row = row_of(event.operation, size_of_block),
               .size = options_.tells_sizes && event.effect() == Effect::kFrees ? size_of_block : event.size});
  if (slot) note_use(thread, *slot);
}

void WindowMaker::note_use(const Thread& thread, std::uint32_t slot) {
  slots_.last_use(slot) = {.window = number_, .run = thread.run, .commands = window_->runs[thread.run].commands};
}

void WindowMaker::direct(Thread& thread, Direction direction, std::uint32_t slot, std::uint64_t size) {
  add(thread, {.slot = slot, .code = static_cast<std::uint8_t>(direction), .mark = 0, .row = 0, .size = size});
}

void WindowMaker::add(Thread& thread, const Command& command) {
  if (thread.window != number_) {
    thread.window = number_;
    thread.run = static_cast<std::uint32_t>(window_->runs.size());
    window_->runs.push_back({.lane = thread.lane, .commands = 0});
  }
  ++window_->runs[thread.run].commands;
  window_->steps.push_back({.run = thread.run, .command = command});
}

std::uint16_t WindowMaker::row_of(Operation operation, std::uint64_t size) {
  const std::size_t size_class = size_class_of(size);
  std::uint16_t& row = row_numbers_[static_cast<std::size_t>(operation)][size_class];
  if (row != 0) return row;
  if (rows_.size() == replayer::kMostRows) return replayer::kMostRows - 1;
  row = static_cast<std::uint16_t>(rows_.size());
  const std::uint64_t most = size_class == 0 ? 0 : size_class == 65 ? UINT64_MAX : std::uint64_t{1} << (size_class - 1);
  rows_.push_back({.operation = operation, .most = most});
  if (rows_.size() == replayer::kMostRows) rows_.back() = {};
  return row;
}

}  // namespace snug::tool
