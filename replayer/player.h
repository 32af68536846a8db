// Player: carries out the commands of the stage, each run in the thread of its lane.
//
//   a thread's commands are done in their order;   turns pass one after the other;
//   an awaited command is done before what awaits it
//
// It allocates nothing itself. The C library does for each thread that starts.
#pragma once

#include "replayer/stage.h"
#include "replayer/subject.h"

namespace snug::replayer {

class Player {
 public:
  explicit Player(Stage& stage) : stage_(stage) { subject_.find(); }

  // The first thread's part: until `snug replay` has no window any more.
  void play();

 private:
  friend class LaneThread;

  void wait_for_window(Lane& lane, std::uint32_t& seen) const;
  // False if the thread is to end.
  bool play_run(Lane& lane);
  void start_clock();
  void end_run();

  void direct(const Command& command);
  void spawn(std::uint32_t lane);
  void keep_turn(std::uint64_t turn);
  void await(std::uint32_t run, std::uint64_t commands);
  void await_time(std::uint64_t nanoseconds) const;

  void perform(const Command& command, std::uint64_t told, TickHistogram* rows);
  void allocate(const Command& command, std::size_t alignment, TickHistogram& row);
  void reallocate(const Command& command, std::uint64_t size_before, TickHistogram& row);
  void free(const Command& command, std::size_t alignment, TickHistogram& row);
  // What the slot holds; null if that is no block.
  void* block_in(std::uint32_t slot);
  void put(std::uint32_t slot, void* block, std::size_t size);
  void touch(void* block, std::size_t from, std::size_t to) const;

  Stage& stage_;
  Subject subject_;
};

}  // namespace snug::replayer
