// snug-component-replayer: what `snug replay --component` starts. Its own memory is in no heap, as that of
// snug-replayer; what else is resident is the heap's under test, and libc's.
#include <stdlib.h>

#include <new>

#include "components/component_subject.h"
#include "replayer/player.h"
#include "replayer/stage_opening.h"

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
