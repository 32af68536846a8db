#include "trace/trace_account.h"

#include <random>

namespace snug::trace {

namespace {

std::string name_of(BlockId block) { return std::to_string(thread_of(block)) + ":" + std::to_string(number_of(block)); }

}  // namespace

// One seed for the process: to get one takes some microseconds, and no file can predict it.
BlockHash::BlockHash() {
  static const std::uint64_t seed = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  seed_ = seed;
}

void TraceAccount::add(const Event& event) {
  const Place place = place_of(event);
  if (place < last_) tell(event, "the event stands behind one that is later");
  if (event.takes_turn && events_ != 0 && place.turn == last_.turn)
    tell(event, "turn " + std::to_string(event.turn) + " is taken when others have it");
  last_ = place;
  const auto operation = static_cast<std::size_t>(event.operation);
  ++events_;
  ++counts_[operation];
  if (!event.is_refused) bytes_[operation] += event.size;
  refused_ += event.is_refused ? 1 : 0;
  turns_ += event.takes_turn ? 1 : 0;
  if (event.operation == Operation::kLost) lost_ += event.values[0];
  if (event.thread != last_thread_) threads_.insert(last_thread_ = event.thread);
  if (event.effect() == Effect::kFinds) come(event, event.block);
  if (event.frees()) go(event);
  if (event.is_about_block() && event.block != BlockId::kNone) look_at(event);
  if (event.allocates()) come(event, event.result);
}

void TraceAccount::come(const Event& event, BlockId block) {
  if (block == BlockId::kNone) return tell(event, "a null pointer was found");
  const auto [place, is_new] = live_.try_emplace(block, event.size);
  if (!is_new) return tell(event, "block " + name_of(block) + " is there already");
  live_bytes_ += event.size;
  if (live_bytes_ <= peak_bytes_) return;
  peak_bytes_ = live_bytes_;
  peak_blocks_ = live_.size();
  peak_time_ = event.time;
}

void TraceAccount::go(const Event& event) {
  const auto found = live_.find(event.block);
  if (found == live_.end()) return tell(event, "block " + name_of(event.block) + " is not there");
  if (thread_of(event.block) != event.thread) ++freed_by_others_;
  live_bytes_ -= found->second;
  live_.erase(found);
}

void TraceAccount::look_at(const Event& event) {
  const auto found = live_.find(event.block);
  if (found == live_.end()) return tell(event, "block " + name_of(event.block) + " is not there");
  if (event.operation != Operation::kTouched) return;
  const std::uint64_t from = event.values[0];
  if (from > found->second || event.size > found->second - from)
    tell(event, "block " + name_of(event.block) + " is touched behind its end");
}

void TraceAccount::tell(const Event& event, const std::string& what) {
  ++faults_;
  if (listener_) listener_(event, what);
}

}  // namespace snug::trace
