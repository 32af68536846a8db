// What a replayer is started with: descriptors of the stage and of the bell, and the process that started it.
#pragma once

#include "replayer/stage.h"

namespace snug::replayer {

// The stage, or null: `status` is what to end with then, and why was said.
Stage* open_stage(int count, char** arguments, int& status);

// Says it, and gives back the status to end with.
int refuse(const char* what);

}  // namespace snug::replayer
