#include "trace_command/trace_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "process/address_ranges.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "trace/trace_account.h"
#include "trace_command/call_stacks.h"
#include "trace_command/event_text.h"

namespace snug::tool {

namespace {

using trace::BlockId;
using trace::Effect;
using trace::Event;
using trace::Operation;

// What was touched of blocks that live, as bytes of each.
using Touched = std::unordered_map<BlockId, AddressRanges, trace::BlockHash>;

void note_touched(Touched& touched, const Event& event) {
  const std::uint64_t from = event.values[0];
  if (event.frees()) touched.erase(event.block);
  if (event.operation == Operation::kTouched && event.size <= UINT64_MAX - from)
    touched[event.block].add(from, from + event.size);
}

// In front of all that follows: the turn before the first event's, by its thread.
void find_live_blocks(const trace::TraceAccount& account, const Touched& touched, const Event& first,
                      TraceOutput& output) {
  std::vector<std::pair<BlockId, std::uint64_t>> blocks(account.live().begin(), account.live().end());
  std::sort(blocks.begin(), blocks.end());
  for (const auto& [block, size] : blocks) {
    Event found{.operation = Operation::kFound,
                .thread = first.thread,
                .time = first.time,
                .turn = first.takes_turn ? first.turn - 1 : first.turn,
                .block = block,
                .size = size};
    output.add(found);
    const auto ranges = touched.find(block);
    if (ranges == touched.end()) continue;
    found.operation = Operation::kTouched;
    ranges->second.within(0, size, [&](std::uint64_t begin, std::uint64_t end) {
      found.values[0] = begin;
      found.size = end - begin;
      output.add(found);
    });
  }
}

}  // namespace

void cut_trace(TraceInput& input, TraceOutput& output, const TraceMoment& from, const TraceMoment& to) {
  trace::TraceAccount before;
  Touched touched;
  bool has_begun = false;
  Event event;
  for (std::uint64_t place = 0; input.next(event); ++place) {
    // A stretch of the trace's order, in which time may fall by a little from one thread to another.
    if (to.is_before(event, place)) {
      if (has_begun || from.time == 0) return;  // what comes before --to may be nothing
      throw UserError(fmt::format("{}: no event lies between --from and --to", printable(input.path())));
    }
    if (!has_begun && !from.is_before(event, place)) {
      before.add(event);
      note_touched(touched, event);
      if (is_definition(event)) output.add(event);
      continue;
    }
    if (!has_begun) find_live_blocks(before, touched, event, output);
    has_begun = true;
    output.add(event);
  }
  if (has_begun) return;
  throw UserError(fmt::format("{}: it ends before --from: its last event is at {:.10g} s", printable(input.path()),
                              seconds_of(before.last_time())));
}

std::uint64_t filter_trace(TraceInput& input, TraceOutput& output, const BlockChoice& choice) {
  std::unordered_set<BlockId, trace::BlockHash> chosen;
  std::uint64_t kept = 0;
  const auto is_chosen = [&choice](BlockId block, std::uint64_t size) {
    return size >= choice.least && size <= choice.most &&
           (choice.threads.empty() || choice.threads.contains(thread_of(block)));
  };
  Event event;
  while (input.next(event)) {
    const Effect effect = event.effect();
    const bool is_of_blocks = effect != Effect::kNothing || event.is_about_block();
    bool keep = !is_of_blocks;
    if (event.block != BlockId::kNone && effect != Effect::kFinds) {
      keep = chosen.contains(event.block);
    } else if (effect == Effect::kFinds) {
      keep = is_chosen(event.block, event.size);
      if (keep) chosen.insert(event.block);
    } else if (event.allocates()) {
      keep = is_chosen(event.result, event.size);
    }
    if (!keep) continue;
    if (event.frees()) chosen.erase(event.block);
    if (event.allocates()) chosen.insert(event.result);
    if (effect == Effect::kFinds || event.allocates()) ++kept;
    output.add(event);
  }
  return kept;
}

}  // namespace snug::tool
