#include "record/process_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "input/process_index.h"

namespace snug::tool {

using recorder::RingEvent;
using trace::BlockId;
using trace::Effect;
using trace::Event;
using trace::Operation;

namespace {

// A sample of mallinfo2 is off by one in so many parts at most.
constexpr std::uint64_t kPartsOfMallinfo = 50;

constexpr auto kHaveAlignment = [] {
  std::array<bool, 256> have = {};
  for (std::uint8_t code = 1; trace::is_operation(code); ++code)
    have[code] = std::ranges::count(traits_of(Operation{code}).fields, trace::Field::kAlignment) != 0;
  return have;
}();

bool has_alignment(std::uint8_t operation) { return kHaveAlignment[operation]; }

bool takes_two_slots(const RingEvent& event) {
  if (event.operation == static_cast<std::uint8_t>(Operation::kRemap)) return true;
  return event.mark == recorder::kOddAlignment && has_alignment(event.operation);
}

// What the allocator says in use, where others have allocated and freed so many bytes while it added that up: it may be
// off by these, and is not told if that is too much.
bool is_off(const std::array<std::uint64_t, recorder::kMallinfoFields>& fields, std::uint64_t moved_bytes) {
  const auto field = [&](trace::Measure measure) {
    return fields[trace::mallinfo_field(static_cast<std::uint64_t>(measure))];
  };
  const std::uint64_t used = field(trace::Measure::kUsedBytes) + field(trace::Measure::kMappedBytes);
  return moved_bytes > used / kPartsOfMallinfo;
}

// The mark says something else of other operations.
std::uint64_t alignment_of(const RingEvent& event, const RingEvent& rest) {
  if (event.mark == 0 || !has_alignment(event.operation)) return 0;
  if (event.mark == recorder::kOddAlignment) return rest.address;
  return event.mark > 64 ? 0 : std::uint64_t{1} << (event.mark - 1);
}

}  // namespace

ProcessTrace::ProcessTrace(trace::ChunkFile& chunks, std::uint32_t number, const recorder::Ring& ring,
                           const RingClock& clock, int level, const std::string& facts)
    : ring_(ring),
      clock_(clock),
      file_(
          chunks,
          {.number = number, .chunk_flags = ring.tells_stacks ? trace::kWithStacks : std::uint16_t{0}, .level = level}),
      heap_(static_cast<pid_t>(ring.process)),
      stacks_([this](const Event& definition) { define(definition); }),
      touched_(ring) {
  file_.add_facts(fmt::format("process\t{}\nstarted\t{}\n{}", ring.process, ring.began_at, facts));
  file_.save(0);
}

void ProcessTrace::take(const RingEvent& event) {
  if (event.operation == recorder::kRest) {
    if (stacks_.awaits_rest()) {
      stacks_.add_rest(event);
    } else if (mallinfo_.awaits_rest()) {
      if (mallinfo_.add_rest(event)) add_mallinfo();
    } else {
      if (begun_) take_whole(*begun_, event);
      begun_.reset();
    }
    return;
  }
  mallinfo_.drop();
  if (MallinfoSlots::begins_with(event)) {
    mallinfo_.begin(event);
  } else if (StackTable::is_of_stacks(event)) {
    definer_ = event;
    stacks_.begin(event);
  } else if (takes_two_slots(event)) {
    begun_ = event;
  } else {
    take_whole(event, {});
  }
}

void ProcessTrace::take_whole(const RingEvent& event, const RingEvent& rest) {
  if (event.operation == recorder::kReallocBegins) return begin_reallocation(event.thread, event);
  if (event.operation == recorder::kGoesInside) return free_inside(event);
  if (event.operation == recorder::kMallinfoBegins) {
    moved_when_asked_ = moved_bytes_;
    return;
  }
  if (event.operation == recorder::kTouchedPages) {
    touched_.add(event.address, event.size, blocks_, [&](BlockId block, const TouchedBytes& bytes) {
      add_touched(event.thread, clock_.steps_of(event.moment), block, bytes);
    });
    return;
  }
  if (event.operation == recorder::kLoaderMemory) return heap_.mapped().add(event.address, event.address + event.size);
  if (!trace::is_operation(event.operation)) return;
  Event& told = told_;
  told.operation = Operation{event.operation};
  told.is_refused = event.is_refused;
  told.thread = event.thread;
  told.time = clock_.steps_of(event.moment);
  told.size = event.size;
  told.alignment = alignment_of(event, rest);
  told.block = BlockId::kNone;
  told.result = BlockId::kNone;
  switch (told.effect()) {
    case Effect::kAllocates:
      told.stack = stacks_.take(event.thread);
      put_block(event.address, {add(told), told.size});
      touched_.note(event.address, told.result, told.size, blocks_);
      return;
    case Effect::kReallocates:
      told.stack = stacks_.take(event.thread);
      end_reallocation(told, event.address);
      return;
    case Effect::kFrees:
      told.block = placed_at(event, Then::kGoes).block;
      break;
    case Effect::kFinds:
      told.block = trace::block_id(0, ++counts_.found_blocks);
      put_block(event.address, {told.block, told.size});
      break;
    case Effect::kNothing:
      if (told.operation == Operation::kUsableSize)
        told.block = placed_at(event, Then::kStays).block;
      else if (told.operation == Operation::kMap)
        told.values = {event.address, event.size, event.mark};
      else
        told.values = {event.address, event.size, rest.address, rest.size};
      note_mapping(told);
  }
  if (told.operation == Operation::kThreadBegin) thread_of(event.thread).system_id = event.address;
  if (told.operation == Operation::kThreadEnd) {
    thread_of(event.thread).ended_at = told.time;
    ended_.push_back(event.thread);
  } else {
    add(told);
  }
}

// The program's own: what the allocator maps is not told.
void ProcessTrace::note_mapping(const Event& told) {
  AddressRanges& mapped = heap_.mapped();
  const auto& [address, bytes, new_address, new_bytes] = told.values;
  if (told.operation == Operation::kMap) mapped.add(address, address + bytes);
  if (told.operation == Operation::kUnmap || told.operation == Operation::kRemap)
    mapped.remove(address, address + bytes);
  if (told.operation == Operation::kRemap) mapped.add(new_address, new_address + new_bytes);
}

void ProcessTrace::define(Event definition) {
  definition.thread = definer_.thread;
  definition.time = clock_.steps_of(definer_.moment);
  add(definition);
}

void ProcessTrace::add_mallinfo() {
  const std::uint64_t time = clock_.steps_of(mallinfo_.first().moment);
  mallinfo_steps_ = time - std::min(time, clock_.steps_of(mallinfo_.moment_before()));
  if (is_off(mallinfo_.fields(), moved_bytes_ - moved_when_asked_)) return;
  const auto first = static_cast<std::uint64_t>(trace::Measure::kArena);
  for (std::uint64_t measure = first; trace::is_of_mallinfo(measure); ++measure) {
    Event told{.operation = Operation::kSample,
               .thread = mallinfo_.first().thread,
               .time = time,
               .values = {measure, mallinfo_.fields()[trace::mallinfo_field(measure)]}};
    add(told);
  }
}

// The old address may be another block's before the reallocation has ended.
void ProcessTrace::begin_reallocation(std::uint32_t thread, const RingEvent& event) {
  const BlockTable::Placed goes = placed_at(event, Then::kGoes);
  thread_of(thread).goes = goes;
  thread_of(thread).address = event.address;
}

void ProcessTrace::end_reallocation(Event& told, std::uint64_t address) {
  const BlockTable::Placed goes = std::exchange(thread_of(told.thread).goes, {});
  told.block = goes.block;
  const BlockId result = add(told);
  if (!told.is_refused) {
    put_block(address, {result, told.size});
    touched_.note(address, result, told.size, blocks_);
  } else if (told.size != 0) {
    put_block(thread_of(told.thread).address, goes);
  }
}

// What the allocator frees of its own has never come.
void ProcessTrace::free_inside(RingEvent event) {
  if (blocks_.find(event.address) == BlockId::kNone) return;
  event.operation = static_cast<std::uint8_t>(Operation::kFree);
  take_whole(event, {});
}

// The identity of the block that has come.
BlockId ProcessTrace::add(Event& told) {
  ++counts_.events;
  if (told.allocates()) {
    ++counts_.allocations;
    counts_.allocated_bytes += weighed_size(told.size);
    told.result = trace::block_id(told.thread, thread_of(told.thread).number++);
  }
  const bool is_anothers = told.block != BlockId::kNone && trace::thread_of(told.block) != told.thread;
  told.takes_turn = is_anothers || traits_of(told.operation).takes_turn;
  if (told.takes_turn) ++turns_;
  told.turn = turns_;
  file_.add(told);
  return told.result;
}

BlockTable::Placed ProcessTrace::placed_at(const RingEvent& event, Then then) {
  if (event.address == 0) return {};
  BlockTable::Placed placed =
      then == Then::kGoes ? blocks_.take(event.address) : BlockTable::Placed{blocks_.find(event.address)};
  if (placed.block == BlockId::kNone) {
    placed = {trace::block_id(0, ++counts_.found_blocks), event.size};
    Event found{.operation = Operation::kFound,
                .thread = event.thread,
                .time = clock_.steps_of(event.moment),
                .block = placed.block,
                .size = placed.size};
    add(found);
    come(placed.size);
    if (then == Then::kStays) blocks_.put(event.address, placed);
  }
  if (then == Then::kGoes) {
    live_bytes_ -= placed.size;
    moved_bytes_ += placed.size;
  }
  return placed;
}

void ProcessTrace::put_block(std::uint64_t address, BlockTable::Placed placed) {
  if (placed.block == BlockId::kNone) return;
  const BlockTable::Placed before = blocks_.put(address, placed);
  if (before.block != BlockId::kNone) {
    ++counts_.missed_frees;
    live_bytes_ -= before.size;
  }
  come(placed.size);
}

void ProcessTrace::come(std::uint64_t bytes) {
  live_bytes_ += bytes;
  moved_bytes_ += bytes;
  counts_.peak_bytes = std::max(counts_.peak_bytes, live_bytes_);
}

ProcessTrace::Thread& ProcessTrace::thread_of(std::uint32_t thread) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  return threads_[thread];
}

void ProcessTrace::mark_gone_threads() {
  const auto is_there = [this](std::uint32_t thread) {
    return access(fmt::format("/proc/{}/task/{}", ring_.process, threads_[thread].system_id).c_str(), F_OK) == 0;
  };
  const auto gone = std::ranges::partition(ended_, is_there);
  for (const std::uint32_t thread : gone) add_later(end_of_thread(thread), next_ticket());
  ended_.erase(gone.begin(), gone.end());
}

void ProcessTrace::catch_up() {
  const std::uint64_t taken = ring_.consumed.load(std::memory_order_relaxed);
  for (; !waiting_.empty() && waiting_.front().ticket <= taken; waiting_.pop_front())
    add_waiting(waiting_.front().event);
}

std::uint64_t ProcessTrace::events_before_waiting() const {
  return waiting_.empty() ? UINT64_MAX : waiting_.front().ticket - ring_.consumed.load(std::memory_order_relaxed);
}

std::uint64_t ProcessTrace::next_ticket() const { return ring_.next.load(std::memory_order_acquire); }

void ProcessTrace::add_later(const Event& told, std::uint64_t ticket) { waiting_.push_back({ticket, told}); }

Event ProcessTrace::end_of_thread(std::uint32_t thread) const {
  return {.operation = Operation::kThreadEnd, .thread = thread, .time = threads_[thread].ended_at};
}

void ProcessTrace::add_of_process(Event told, std::uint64_t time) {
  told.thread = 1;
  told.time = time;
  add(told);
}

void ProcessTrace::pause(std::uint64_t time) {
  add_of_process({.operation = Operation::kPause}, time);
  forget_blocks();
}

void ProcessTrace::resume(std::uint64_t time) {
  forget_blocks();
  add_of_process({.operation = Operation::kResume}, time);
}

// What lies at an address may be another block by the time that it is told of again.
void ProcessTrace::forget_blocks() {
  blocks_ = {};
  live_bytes_ = 0;
  touched_.forget();
  for (Thread& thread : threads_) thread.goes = {};
}

// Of the first thread; it must not move that thread's clock past what the thread has in the ring.
void ProcessTrace::sample(std::uint64_t time, trace::Measure measure, std::uint64_t value, std::uint64_t ticket) {
  add_later({.operation = Operation::kSample,
             .thread = 1,
             .time = time,
             .values = {static_cast<std::uint64_t>(measure), value}},
            ticket);
}

void ProcessTrace::look_at_blocks(std::uint64_t time, std::uint64_t ticket) {
  if (!touched_.look(blocks_)) return;
  add_later({.operation = Operation::kTouched, .thread = 1, .time = time}, ticket);
}

// One that names no block stands for what a look has seen.
void ProcessTrace::add_waiting(const Event& event) {
  if (event.operation != Operation::kTouched) {
    Event told = event;
    add(told);
    return;
  }
  touched_.tell_seen(
      blocks_, [&](BlockId block, const TouchedBytes& bytes) { add_touched(event.thread, event.time, block, bytes); });
}

void ProcessTrace::add_touched(std::uint32_t thread, std::uint64_t time, BlockId block, const TouchedBytes& bytes) {
  Event told{.operation = Operation::kTouched,
             .thread = thread,
             .time = time,
             .block = block,
             .size = bytes.size,
             .values = {bytes.from}};
  add(told);
}

void ProcessTrace::exec(const std::string& program) {
  add_of_process({.operation = Operation::kExec, .texts = {program, {}}}, 0);
}

void ProcessTrace::exit(int status) {
  add_of_process({.operation = Operation::kExit, .values = {static_cast<std::uint64_t>(status)}}, 0);
}

void ProcessTrace::save(std::uint64_t time) {
  constexpr std::uint64_t kSecond = 1'000'000'000 / trace::kNanosecondsPerStep;
  if (time > kSecond) file_.save(time - kSecond);
}

void ProcessTrace::save_all() { file_.save(UINT64_MAX); }

void ProcessTrace::finish(std::uint64_t unfinished) {
  counts_.unfinished = unfinished;
  for (const std::uint32_t thread : ended_) add_later(end_of_thread(thread), next_ticket());
  for (const Waiting& waiting : waiting_) add_waiting(waiting.event);
  touched_.tell_never_seen(
      blocks_, [&](BlockId block, const TouchedBytes& bytes) { add_touched(1, clock_.now(), block, bytes); });
  file_.add_facts(fmt::format("allocations\t{}\nallocated\t{}\npeak\t{}\n", counts_.allocations,
                              counts_.allocated_bytes, counts_.peak_bytes));
  file_.finish();
  counts_.bytes = file_.bytes();
}

}  // namespace snug::tool
