// StageMemory: the memory that `snug replay` shares with one replayer, and the bell by which that tells that a window
// is over. Both descriptors pass to the programs that are started meanwhile.
#pragma once

#include <string>

#include "replay/stage.h"

namespace snug::tool {

class StageMemory {
 public:
  // Throws UserError.
  StageMemory();
  ~StageMemory();
  StageMemory(const StageMemory&) = delete;
  StageMemory& operator=(const StageMemory&) = delete;

  replayer::Stage& stage() const { return *stage_; }
  int bell() const { return bell_; }
  // What the replayer takes as its arguments.
  std::string file_argument() const { return std::to_string(file_); }
  std::string bell_argument() const { return std::to_string(bell_); }

 private:
  int file_;
  int bell_;
  replayer::Stage* stage_;
};

}  // namespace snug::tool
