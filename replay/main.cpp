// snug-replayer: the program that `snug replay` starts with the allocator under test preloaded. It is linked only to
// libc, and calls no function that allocates but pthread_create.
#include <stdlib.h>

#include "replay/player.h"
#include "replay/stage_opening.h"
#include "replay/subject.h"

int main(int count, char** arguments) {
  int status = 0;
  snug::replayer::Stage* const stage = snug::replayer::open_stage(count, arguments, status);
  if (stage == nullptr) return status;
  static constinit snug::replayer::Subject subject;
  subject.find();
  snug::replayer::Player player(*stage, subject);
  player.play();
  return EXIT_SUCCESS;
}
