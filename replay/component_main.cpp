// snug-component-replayer: the program that `snug replay --component` starts. Like snug-replayer it uses no heap for
// its own memory; the rest of what is resident belongs to the heap under test, and to libc.
#include <stdlib.h>

#include <new>

#include "replay/component_subject.h"
#include "replay/player.h"
#include "replay/stage_opening.h"

int main(int count, char** arguments) {
  int status = 0;
  snug::replayer::Stage* const stage = snug::replayer::open_stage(count, arguments, status);
  if (stage == nullptr) return status;
  using snug::components::ComponentSubject;
  // Never destroyed: blocks are live at the end.
  alignas(ComponentSubject) static std::byte memory[sizeof(ComponentSubject)];
  auto& subject = *new (memory) ComponentSubject;
  if (!subject.begin(stage->component))
    return snug::replayer::refuse("snug-component-replayer: there is no memory for such a heap\n");
  snug::replayer::Player player(*stage, subject);
  player.play();
  return EXIT_SUCCESS;
}
