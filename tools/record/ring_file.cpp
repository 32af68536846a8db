#include "record/ring_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "text/user_error.h"

namespace snug::tool {

using recorder::Ring;

std::optional<RingFile> RingFile::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    // The process may have taken it away. For want of a descriptor, it is looked at again.
    if (errno == ENOENT || errno == EMFILE || errno == ENFILE || errno == ENOMEM) return std::nullopt;
    throw UserError(fmt::format("cannot open '{}': {}", path.string(), std::strerror(errno)));
  }
  struct stat status{};
  void* memory = MAP_FAILED;
  if (fstat(file, &status) == 0 && static_cast<std::uint64_t>(status.st_size) == sizeof(Ring))
    memory = mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return std::nullopt;
  auto* const ring = static_cast<Ring*>(memory);
  if (ring->magic.load(std::memory_order_acquire) != recorder::kRingMagic) {
    munmap(memory, sizeof(Ring));
    return std::nullopt;
  }
  std::filesystem::remove(path);
  return RingFile(ring);
}

RingFile::RingFile(RingFile&& other) noexcept
    : ring_(std::exchange(other.ring_, nullptr)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_gone_(other.is_gone_),
      consumed_(other.consumed_),
      passed_over_(other.passed_over_),
      stuck_at_(other.stuck_at_),
      stuck_since_(other.stuck_since_) {}

RingFile::~RingFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (ring_ == nullptr) return;
  set_state(recorder::RingState::kAbandoned);
  munmap(ring_, sizeof(Ring));
}

// There may be no descriptor to be had just now, which says nothing of the process.
void RingFile::watch_process() {
  descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, ring_->process, 0));
  is_gone_ = descriptor_ < 0 && errno == ESRCH;
}

bool RingFile::has_ended() {
  if (descriptor_ < 0 && !is_gone_) watch_process();
  pollfd watched{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return is_gone_ || (descriptor_ >= 0 && poll(&watched, 1, 0) > 0);
}

bool RingFile::pass_over(std::chrono::steady_clock::time_point now) {
  // What takes several slots waits when there are some left.
  const std::uint64_t held = ring_->next.load(std::memory_order_acquire) - consumed_;
  const bool is_full = held > recorder::kSlots - recorder::kMostTogether;
  if (!is_full || stuck_at_ != consumed_) {
    stuck_at_ = is_full ? consumed_ : UINT64_MAX;
    stuck_since_ = now;
    return false;
  }
  if (now - stuck_since_ < kPatience) return false;
  ++passed_over_;
  ring_->consumed.store(++consumed_, std::memory_order_release);
  return true;
}

}  // namespace snug::tool
