#include "input/imported_blocks.h"

namespace snug::tool {

std::string facts_of_import(const std::string& format, const std::string& lacks) {
  std::string facts = "imported\t" + format + "\n";
  for (std::size_t begin = 0; begin != std::string::npos;) {
    const std::size_t end = lacks.find("; ", begin);
    facts += "lacks\t" + lacks.substr(begin, end == std::string::npos ? end : end - begin) + "\n";
    begin = end == std::string::npos ? end : end + 2;
  }
  return facts;
}

namespace {

using trace::BlockId;
using trace::Event;
using trace::Operation;

constexpr std::uint32_t kThread = 1;  // the only one

}  // namespace

void ImportedBlocks::allocate(std::uint64_t key, std::uint64_t bytes) {
  if (live_.contains(key)) {
    ++missing_frees_;
    free(key);
  }
  come({.operation = Operation::kMalloc, .size = bytes}, key);
}

void ImportedBlocks::free(std::uint64_t key) { add({.operation = Operation::kFree, .block = take(key)}); }

void ImportedBlocks::reallocate(std::uint64_t old_key, std::uint64_t key, std::uint64_t bytes) {
  const BlockId old = take(old_key);
  if (live_.contains(key)) {
    ++missing_frees_;
    free(key);
  }
  come({.operation = Operation::kRealloc, .block = old, .size = bytes}, key);
}

void ImportedBlocks::refuse_reallocation(std::uint64_t key, std::uint64_t bytes) {
  const BlockId block = bytes == 0 ? take(key) : find(key);  // to nothing, it has been freed
  add({.operation = Operation::kRealloc, .is_refused = true, .block = block, .size = bytes});
}

void ImportedBlocks::add_sample(trace::Measure measure, std::uint64_t value) {
  Event event{.operation = Operation::kSample};
  event.values = {static_cast<std::uint64_t>(measure), value};
  add(event);
}

BlockId ImportedBlocks::find(std::uint64_t key) {
  const auto [place, is_new] = live_.try_emplace(key, BlockId::kNone);
  if (is_new) {
    place->second = trace::block_id(0, ++found_);
    add({.operation = Operation::kFound, .block = place->second});
  }
  return place->second;
}

BlockId ImportedBlocks::take(std::uint64_t key) {
  const BlockId block = find(key);
  live_.erase(key);
  return block;
}

void ImportedBlocks::come(Event event, std::uint64_t key) {
  event.result = trace::block_id(kThread, number_++);
  live_.emplace(key, event.result);
  add(event);
}

void ImportedBlocks::add(Event event) {
  event.thread = kThread;
  event.time = time_++;
  // Blocks that were found are nobody's.
  event.takes_turn = event.block != BlockId::kNone && thread_of(event.block) != kThread;
  event.turn = event.takes_turn ? ++turn_ : turn_;
  ++events_;
  output_.add(event);
}

}  // namespace snug::tool
