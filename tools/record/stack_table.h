// StackTable: the stacks and modules that a process tells of in its ring, made into the frames and modules of a trace.
// Stacks that begin alike share frames: each frame is one address in the one that called it.
//
//   every frame and module that has a number has been given to `tell`, once, callers first
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "record/frame_table.h"
#include "recorder/ring.h"
#include "trace/event.h"

namespace snug::tool {

class StackTable {
 public:
  // Hears of the definitions, without thread and time.
  using Tell = std::function<void(const trace::Event& definition)>;
  explicit StackTable(Tell tell) : tell_(std::move(tell)) {}

  static bool is_of_stacks(const recorder::RingEvent& event) {
    return event.operation == recorder::kStack || event.operation == recorder::kModule;
  }

  // A stack or a module; the rest of it may follow in further slots. One that was cut short is dropped: the thread that
  // began it was killed, or torn out of it.
  void begin(const recorder::RingEvent& event);
  bool awaits_rest() const { return rests_ != 0; }
  void add_rest(const recorder::RingEvent& event);
  // The stack of the allocation that this thread tells of next, behind its stack; 0 if it is not known.
  std::uint64_t take(std::uint32_t thread);

 private:
  struct Module {
    std::uint64_t end = 0;
    std::uint64_t bias = 0;
    std::string name;  // its build-id and path
    std::uint64_t number = 0;
  };
  // A call of the stack that came last.
  struct Call {
    std::uint64_t return_address;
    std::uint64_t frame;
  };

  void end_stack();
  void end_module();
  std::uint64_t frame_of(std::uint64_t caller, std::uint64_t return_address);

  Tell tell_;
  recorder::RingEvent begun_;
  std::size_t rests_ = 0;
  std::vector<std::uint64_t> words_;         // of the rests that have come
  std::uint32_t thread_ = 0;                 // of the stack that came last
  std::uint64_t stack_ = 0;                  // 0: none waits for its allocation
  std::map<std::uint64_t, Module> modules_;  // those mapped now, by where they begin
  std::uint64_t modules_told_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> stacks_;  // frames by keys
  FrameTable frames_;
  // Of the stack that came last, and deeper ones of those before it: the outermost first, each in the frame before it.
  // Stacks that follow each other share most of their calls, and a frame is looked up only behind those.
  std::vector<Call> calls_;
};

}  // namespace snug::tool
