#include "report_command/heap_history.h"

#include <algorithm>
#include <bit>

#include "base/bits.h"
#include "size/class_table.h"

namespace snug::tool {

using trace::Event;
using trace::Measure;
using trace::Operation;

namespace {

constexpr std::uint64_t kOsPage = 4096;
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 56;

std::size_t size_bin(std::uint64_t size) {
  return std::min<std::size_t>(size == 0 ? 0 : std::bit_width(size) - 1, kSizeBins - 1);
}
std::size_t life_bin(std::uint64_t steps) { return std::min<std::size_t>(std::bit_width(steps), kLifeBins - 1); }

}  // namespace

std::uint64_t bytes_on_snug(std::uint64_t size) {
  if (size > kMostSize) return size;  // no block has it, whatever a file says
  const std::uint64_t pages = round_up(size, kOsPage);
  if (size > kRoomyTable.max_size) return pages;
  // The program writes no OS page behind the block's last byte.
  const std::uint64_t block = kRoomyTable.classes[kRoomyTable.class_of(size)].block_size;
  return size <= kOsPage ? block : std::min(block, pages);
}

std::uint64_t class_below(std::uint64_t size) {
  const std::uint64_t takes = bytes_on_snug(size);
  if (size > kRoomyTable.max_size || takes % kOsPage == 0) return takes > kOsPage ? takes - kOsPage : 0;
  const std::size_t size_class = kRoomyTable.class_of(size);
  return size_class <= 1 ? 0 : kRoomyTable.classes[size_class - 1].block_size;
}

HeapHistory::HeapHistory(TraceInput& input, std::uint64_t temporary_events)
    : temporary_events_(temporary_events), ends_early_(input.ends_early()) {
  Event event;
  while (input.next(event)) add(event);
  end();
}

void HeapHistory::add(const Event& event) {
  ++events_;
  if (event.thread != last_thread_ || threads_.empty()) threads_.insert(last_thread_ = event.thread);
  stacks_.add(event);
  advance(event.time);
  if (event.operation == Operation::kSample) look_at_sample(event);
  if (event.operation == Operation::kLost) lost_ += event.values[0];
  if (event.is_refused) ++refused_;
  if (event.effect() == trace::Effect::kFinds) come(event, event.block, true);
  // What a reallocation makes of a block comes before the block goes: the growth is told of the new one's stack.
  const bool moves = event.frees() && event.allocates();
  if (event.frees()) go(event, moves);
  if (event.allocates()) come(event, event.result, false);
}

// Times of two threads may be told in another order than the events have; no slice is entered again.
void HeapHistory::advance(std::uint64_t time) {
  last_time_ = std::max(last_time_, time);
  if (const unsigned halvings = slices_.halvings_for(last_time_)) {
    slices_.halve(halvings);
    process_.halve(halvings);
    for (auto& [number, stack] : by_stack_) stack.series.halve(halvings);
    for (auto& [size, of_size] : by_size_) of_size.series.halve(halvings);
    for (auto& [threads, series] : hand_overs_) series.halve(halvings);
    for (auto& of_size : lifetimes_)
      for (auto& series : of_size) series.halve(halvings);
  }
  slice_ = slices_.slice_of(last_time_);
}

void HeapHistory::come(const Event& event, trace::BlockId id, bool is_found) {
  ThreadTail& tail = tails_[event.thread];
  ++tail.events;
  if (block_of(id) != nullptr) {
    ++impossible_;
    return;
  }
  StackHistory& stack = by_stack_[event.stack];
  SizeHistory& of_size = by_size_[event.size];
  const std::uint64_t takes = bytes_on_snug(event.size);
  if (stack.takes != takes) stack.takes = stack.takes == 0 ? takes : kSeveralClasses;
  const Block block{&stack, event.stack, &of_size, event.size, last_time_, tail.events};
  if (free_places_.empty()) {
    live_blocks_.push_back(block);
    places_.put(BlockTable::key_of(id), {trace::BlockId{live_blocks_.size()}});
  } else {
    live_blocks_[free_places_.back()] = block;
    places_.put(BlockTable::key_of(id), {trace::BlockId{free_places_.back() + 1ULL}});
    free_places_.pop_back();
  }
  tail.last[tail.events % ThreadTail::kKept] = {id, event.stack, event.size};
  stack.live.add(event.size, peaks_);
  stack.series.at(slice_).allocated.add(event.size);  // found ones, too: what comes less what goes is what lives
  of_size.live.add(event.size, peaks_);
  ++of_size.series.at(slice_).allocated;
  if (is_found) {
    found_.add(event.size);
  } else {
    stack.all.allocated.add(event.size);
    of_size.allocated.add(event.size);
    by_thread_[event.thread].add(event.size);
    allocated_.add(event.size);
  }
  live_.add(event.size, peaks_);
  rounded_ += takes;
  ProcessSums& process = process_.at(slice_);
  process.live = live_.live();
  process.rounded = rounded_;
  if (!is_found) process.allocated.add(event.size);
  process.most_live = std::max(process.most_live, live_.live().bytes);
  if (live_.live().bytes <= peak_bytes_) return;
  peak_bytes_ = live_.live().bytes;
  peak_time_ = last_time_;
  rounded_at_peak_ = rounded_;
  ++peaks_;
}

void HeapHistory::go(const Event& event, bool stays_as_other) {
  Block* const place = block_of(event.block);
  if (place == nullptr) {
    ++impossible_;
    return;
  }
  places_.take(BlockTable::key_of(event.block));
  const Block block = *place;
  place->stack = nullptr;
  free_places_.push_back(static_cast<std::uint32_t>(place - live_blocks_.data()));
  ThreadTail& tail = tails_[event.thread];
  ++tail.events;
  const std::uint32_t owner = trace::thread_of(event.block);
  const std::uint64_t age = last_time_ - block.time;
  const bool is_temporary =
      !stays_as_other && owner == event.thread && tail.events - block.thread_event <= temporary_events_;
  if (stays_as_other) {
    if (event.size > block.size) note_growth(by_stack_[event.stack], {1, block.size, event.size});
  } else if (owner == event.thread) {
    look_for_growth(block, tail);
  }
  StackSums& sums = block.stack->series.at(slice_);
  sums.freed.add(block.size);
  block.stack->all.freed.add(block.size);
  block.stack->live.remove(block.size, peaks_);
  block.sums_of_size->live.remove(block.size, peaks_);
  SizeSums& of_size = block.sums_of_size->series.at(slice_);
  ++of_size.freed;
  if (is_temporary) {
    ++of_size.temporary;
    sums.temporary.add(block.size);
    block.stack->all.temporary.add(block.size);
    block.sums_of_size->temporary.add(block.size);
    temporary_.add(block.size);
  }
  lifetimes_[size_bin(block.size)][life_bin(age)].at(slice_).add(block.size);
  HandOverSums& pair = hand_overs_[{owner, event.thread}].at(slice_);
  pair.freed.add(block.size);
  if (age * trace::kNanosecondsPerStep <= kQuickNanoseconds) ++pair.quick;
  if (owner != event.thread && owner != 0) freed_by_others_.add(block.size);
  live_.remove(block.size, peaks_);
  rounded_ -= bytes_on_snug(block.size);
  ProcessSums& process = process_.at(slice_);
  process.most_live = std::max(process.most_live, live_.live().bytes + block.size);
  process.live = live_.live();
  process.rounded = rounded_;
  process.freed_bytes += block.size;
}

void HeapHistory::note_growth(StackHistory& stack, const GrowthSums& growth) {
  stack.growth += growth;
  growth_ += growth;
}

HeapHistory::Block* HeapHistory::block_of(trace::BlockId id) {
  const auto found = static_cast<std::uint64_t>(places_.find(BlockTable::key_of(id)));
  return found == 0 ? nullptr : &live_blocks_[found - 1];
}

// As a std::vector grows: a block of twice or one and a half times the size comes, then the old one goes. Blocks of any
// sizes look so now and then, but not three times one behind the other.
void HeapHistory::look_for_growth(const Block& freed, ThreadTail& tail) {
  constexpr std::uint64_t kSteps = 3;
  constexpr std::uint64_t kSlack = 32;  // a header, a terminating zero, the rounding of an element's size
  const auto is_near = [](std::uint64_t size, std::uint64_t wanted) {
    return size <= wanted + kSlack && size + kSlack >= wanted;
  };
  if (freed.stack_number == 0) return;
  for (ThreadTail::Allocation& last : tail.last) {
    const bool is_grown = last.stack == freed.stack_number && last.size > freed.size &&
                          (is_near(last.size, 2 * freed.size) || is_near(last.size, freed.size + freed.size / 2));
    Block* const grown = is_grown ? block_of(last.block) : nullptr;
    if (grown == nullptr) continue;
    last = {};  // it is no other block's
    grown->steps = freed.steps + 1;
    grown->copied = freed.copied + freed.size;
    if (grown->steps > kSteps) note_growth(*grown->stack, {1, freed.size, grown->size});
    if (grown->steps == kSteps) note_growth(*grown->stack, {kSteps, grown->copied, grown->size});
    return;
  }
}

void HeapHistory::look_at_sample(const Event& event) {
  sampled_.add(event);
  const auto measure = static_cast<Measure>(event.values[0]);
  if (measure == Measure::kHeap) sample_.heap = event.values[1];
  // The allocator answers behind the sample that has asked it.
  if (measure == Measure::kUsedBytes && !samples_.empty())
    samples_.back().in_use = trace::used_bytes(sampled_.last()).value_or(0);
  if (measure != Measure::kResident) return;
  sample_.resident = event.values[1];
  sample_.time = last_time_;
  samples_.push_back(sample_);
  sample_ = {};
}

std::vector<ProcessSums> HeapHistory::process_by_slice() const {
  std::vector<ProcessSums> all(last_slice() + 1);
  auto entry = process_.entries().begin();
  ProcessSums before;
  for (std::uint32_t slice = 0; slice != all.size(); ++slice) {
    ProcessSums& sums = all[slice];
    if (entry != process_.entries().end() && entry->slice == slice) {
      sums = (entry++)->sums;
    } else {
      sums.live = before.live;
      sums.rounded = before.rounded;
    }
    sums.most_live = std::max(sums.most_live, before.live.bytes);
    before = sums;
  }
  return all;
}

void HeapHistory::end() {
  for (const Block& block : live_blocks_)
    if (block.stack != nullptr) lifetimes_[size_bin(block.size)][kLifeBins].at(slice_).add(block.size);
}

}  // namespace snug::tool
