// A replayer's arguments: descriptors of the stage and of the bell, and the process that started it.
#pragma once

#include "replay/stage.h"

namespace snug::replayer {

// The stage, or null: then `status` is the exit status, and the reason was reported.
Stage* open_stage(int count, char** arguments, int& status);

// Reports it, and returns the exit status.
int refuse(const char* what);

}  // namespace snug::replayer
