// MadeUpTrace: events of several threads that could be a program's, by chance: every operation, blocks that are handed
// over, times that stand still, numbers at their limits. The same seed makes the same events.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "trace/event.h"

namespace snug::trace {

class MadeUpTrace {
 public:
  MadeUpTrace(std::uint32_t seed, std::size_t events, std::uint32_t threads) : random_(seed), numbers_(threads + 1, 1) {
    for (std::size_t i = 0; i < events; ++i) add();
  }

  std::vector<Event> events;  // in the order of the trace

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  // Small as a rule, up to 64 bits.
  std::uint64_t number() { return below(8) != 0 ? below(300) : random_() >> below(64); }

  void add() {
    constexpr std::size_t kMade = kOperations - 2;  // not `number`, which is the writer's own
    Event event{.operation = static_cast<Operation>(1 + below(kMade))};
    const auto last_allocator = static_cast<std::uint64_t>(Operation::kNewArrayAlignedNothrow);
    if (below(2) == 0) event.operation = static_cast<Operation>(1 + below(last_allocator));
    if (event.operation == Operation::kNumber) event.operation = Operation::kTouched;
    const OperationTraits& traits = traits_of(event.operation);
    event.thread = static_cast<std::uint32_t>(1 + below(numbers_.size() - 1));
    time_ += below(4) == 0 ? below(1000) : below(2);
    event.time = time_;
    std::size_t values = 0;
    std::size_t texts = 0;
    for (const Field field : traits.fields) {
      if (field == Field::kBlock) choose_block(event);
      if (field == Field::kSize) event.size = number();
      if (field == Field::kAlignment) event.alignment = number();
      if (field == Field::kValue || field == Field::kSigned) event.values[values++] = number();
      if (field == Field::kText) event.texts[texts++] = text();
    }
    const bool may_allocate = traits.effect == Effect::kAllocates || traits.effect == Effect::kReallocates;
    event.is_refused = may_allocate && below(20) == 0;
    if (may_allocate) event.stack = number();
    const bool is_foreign = event.block != BlockId::kNone && thread_of(event.block) != event.thread;
    event.takes_turn = traits.takes_turn || is_foreign;
    if (event.takes_turn) ++turn_;
    event.turn = turn_;
    if (event.allocates()) live_.push_back(event.result = block_id(event.thread, numbers_[event.thread]++));
    if (event.frees()) live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(chosen_));
    events.push_back(event);
  }

  void choose_block(Event& event) {
    if (event.effect() == Effect::kFinds) {
      live_.push_back(event.block = block_id(0, ++found_));
      return;
    }
    if (live_.empty() || below(20) == 0) return;
    chosen_ = below(live_.size());
    event.block = live_[chosen_];
  }

  std::string_view text() {
    static const std::string kText(kMostText, 't');
    return std::string_view(kText).substr(0, below(10) == 0 ? kMostText : below(40));
  }

  std::mt19937_64 random_;
  std::vector<std::uint64_t> numbers_;  // by thread
  std::vector<BlockId> live_;
  std::size_t chosen_ = 0;
  std::uint64_t found_ = 0;
  std::uint64_t time_ = 0;
  std::uint64_t turn_ = 0;
};

}  // namespace snug::trace
