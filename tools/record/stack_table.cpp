#include "record/stack_table.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace snug::tool {

using recorder::RingEvent;
using trace::Event;
using trace::Operation;

namespace {

constexpr std::size_t kBytesOfSlot = 16;

}  // namespace

void StackTable::begin(const RingEvent& event) {
  begun_ = event;
  words_.clear();
  const bool is_module = event.operation == recorder::kModule;
  // How many more a module has, the first of them says.
  rests_ = is_module ? 1 : std::min<std::uint64_t>(event.size + 1, recorder::kMostFrames + 1) / 2;
  if (is_module) return;
  thread_ = event.thread;
  const auto known = stacks_.find(event.address);
  stack_ = known == stacks_.end() ? 0 : known->second;
}

void StackTable::add_rest(const RingEvent& event) {
  words_.push_back(event.address);
  words_.push_back(event.size);
  --rests_;
  const bool is_module = begun_.operation == recorder::kModule;
  if (is_module && words_.size() == 2) {
    const std::uint64_t path = std::min<std::uint64_t>(words_[1] >> 32, recorder::kMostModulePath);
    const std::uint64_t build_id = std::min<std::uint64_t>(words_[1] & 0xffffffff, recorder::kMostBuildId);
    rests_ = recorder::slots_of_text(path) + recorder::slots_of_text(build_id);
    words_[1] = path << 32 | build_id;
  }
  if (rests_ != 0) return;
  if (is_module)
    end_module();
  else
    end_stack();
}

std::uint64_t StackTable::take(std::uint32_t thread) {
  rests_ = 0;  // all of them stand before
  return thread == thread_ ? std::exchange(stack_, 0) : 0;
}

// Its frames came innermost first.
void StackTable::end_stack() {
  words_.resize(std::min<std::uint64_t>(begun_.size, words_.size()));
  std::uint64_t frame = 0;
  std::size_t depth = 0;
  for (std::size_t i = words_.size(); i-- > 0; ++depth) {
    if (depth == calls_.size() || calls_[depth].return_address != words_[i]) {
      calls_.resize(depth);
      calls_.push_back({words_[i], frame_of(frame, words_[i])});
    }
    frame = calls_[depth].frame;
  }
  stacks_[begun_.address] = stack_ = frame;
}

void StackTable::end_module() {
  const std::uint64_t begin = begun_.address;
  const std::uint64_t end = begin + begun_.size;
  const auto* const text = reinterpret_cast<const char*>(words_.data() + 2);
  const std::size_t build_id = words_[1] & 0xffffffff;
  const std::size_t path = words_[1] >> 32;
  const std::string_view its_id(text, build_id);
  const std::string_view its_path(text + recorder::slots_of_text(build_id) * kBytesOfSlot, path);
  std::string name = std::string(its_id).append(its_path);
  // After each unloading the process tells of modules again.
  const auto known = modules_.find(begin);
  if (known != modules_.end() && known->second.end == end && known->second.bias == words_[0] &&
      known->second.name == name)
    return;
  calls_.clear();
  // What lay there before is mapped no more.
  auto next = modules_.lower_bound(begin);
  if (next != modules_.begin() && std::prev(next)->second.end > begin) --next;
  while (next != modules_.end() && next->first < end) next = modules_.erase(next);
  modules_[begin] = {.end = end, .bias = words_[0], .name = std::move(name), .number = ++modules_told_};
  tell_({.operation = Operation::kModule, .values = {modules_told_}, .texts = {its_id, its_path}});
}

// The call lies before the address that it returns to, which may belong to another line, or another function.
std::uint64_t StackTable::frame_of(std::uint64_t caller, std::uint64_t return_address) {
  const std::uint64_t address = return_address - 1;
  auto module = modules_.upper_bound(address);
  const bool is_in_module = module != modules_.begin() && (--module)->second.end > address;
  const Frame frame =
      is_in_module ? Frame{caller, module->second.number, address - module->second.bias} : Frame{caller, 0, address};
  const auto [number, is_new] = frames_.number_of(frame);
  if (is_new) tell_({.operation = Operation::kFrame, .values = {number, caller, frame.module, frame.address}});
  return number;
}

}  // namespace snug::tool
