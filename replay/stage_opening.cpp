#include "replay/stage_opening.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "replay/recorded_clock.h"

namespace snug::replayer {

int refuse(const char* what) {
  const bool is_told = write(STDERR_FILENO, what, strlen(what)) > 0;
  return is_told ? 2 : 3;
}

Stage* open_stage(int count, char** arguments, int& status) {
  constexpr char kUsage[] = "snug-replayer: only snug replay starts it\n";
  status = EXIT_FAILURE;
  if (count != 4) {
    status = refuse(kUsage);
    return nullptr;
  }
  // Ends with the parent, as no other process would end it. The parent may have gone while the allocator was loaded.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != atoi(arguments[3])) return nullptr;
  const int file = atoi(arguments[1]);
  void* const memory = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    status = refuse("snug-replayer: there is no address space for what snug replay shares with it\n");
    return nullptr;
  }
  auto* const stage = static_cast<Stage*>(memory);
  if (stage->magic != kStageMagic) {
    status = refuse(kUsage);
    return nullptr;
  }
  stage->bell = atoi(arguments[2]);
  find_system_clock();
  return stage;
}

}  // namespace snug::replayer
