// snug-replayer: what `snug replay` starts with the allocator under test preloaded. Its arguments are the descriptors
// of the stage and of the bell, and the process that started it. It is linked to libc alone, and calls nothing that
// allocates but pthread_create.
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "replayer/player.h"

namespace {

int refuse(const char* what, std::size_t length) {
  const bool is_told = write(STDERR_FILENO, what, length) > 0;
  return is_told ? 2 : 3;
}

}  // namespace

int main(int count, char** arguments) {
  using snug::replayer::Stage;
  constexpr char kUsage[] = "snug-replayer: only snug replay starts it\n";
  constexpr char kNoStage[] = "snug-replayer: there is no address space for what snug replay shares with it\n";
  if (count != 4) return refuse(kUsage, sizeof kUsage - 1);
  // Nobody would tell it to end. The parent may have gone already, while the allocator was loaded.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != atoi(arguments[3])) return EXIT_FAILURE;
  const int file = atoi(arguments[1]);
  void* const memory = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return refuse(kNoStage, sizeof kNoStage - 1);
  auto& stage = *static_cast<Stage*>(memory);
  if (stage.magic != snug::replayer::kStageMagic) return refuse(kUsage, sizeof kUsage - 1);
  stage.bell = atoi(arguments[2]);
  static snug::replayer::Player player(stage);
  player.play();
  return EXIT_SUCCESS;
}
