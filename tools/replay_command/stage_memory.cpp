#include "replay_command/stage_memory.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "print/ignored_signal.h"
#include "text/user_error.h"

namespace snug::tool {

// glibc has memfd_create since 2.27.
StageMemory::StageMemory()
    : file_(static_cast<int>(syscall(SYS_memfd_create, "snug replay", 0))),
      bell_(eventfd(0, EFD_NONBLOCK)),
      stage_(nullptr) {
  const IgnoredSignal long_file(SIGXFSZ);  // a limit on the length of files holds here too, and is told below
  // Most of it is never touched, and takes no memory.
  const bool has_size = file_ >= 0 && bell_ >= 0 && ftruncate(file_, sizeof(replayer::Stage)) == 0;
  void* const memory =
      has_size ? mmap(nullptr, sizeof(replayer::Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0)
               : MAP_FAILED;
  if (memory == MAP_FAILED) {
    const int error = errno;
    close(file_);
    close(bell_);
    throw UserError(fmt::format("snug replay: cannot share memory with the replayer: {}", std::strerror(error)),
                    EXIT_FAILURE);
  }
  stage_ = static_cast<replayer::Stage*>(memory);
  stage_->magic = replayer::kStageMagic;
}

StageMemory::~StageMemory() {
  munmap(stage_, sizeof(replayer::Stage));
  close(file_);
  close(bell_);
}

}  // namespace snug::tool
