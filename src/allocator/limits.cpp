// What bounds the memory that the process holds: its settings, the container, and the program's callbacks.
#include "allocator/allocator.h"
#include "allocator/refusal.h"
#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/errno_keeper.h"
#include "os/clock.h"
#include "os/memory_limit.h"

namespace snug {
namespace {

// The parts of what the container leaves, one in so many, that the limits spare: the kernel counts its own memory for
// the process too, and charges ahead; and others take memory between two looks.
constexpr size_t kPartSpared = 16;
constexpr size_t kPartSparedSoft = kPartSpared / 2;  // where the container has no soft limit that is lower

// Where a container's limits lie for what this heap holds: it may keep that, and get all that is left. What it holds
// and has not written takes nothing of the container yet.
struct ContainerLimits {
  size_t most = SIZE_MAX;
  size_t high = SIZE_MAX;
  bool are_known = true;  // false if the kernel did not let its files be read
};

ContainerLimits container_limits(size_t held) {
  const os::GroupRoom room = os::group_room();
  const size_t own = min(held, os::anonymous_memory());
  const auto with_own = [own](size_t left) { return left > SIZE_MAX - own ? SIZE_MAX : left + own; };
  const size_t most = with_own(room.most);
  const auto spared = [most](size_t part) { return most == SIZE_MAX ? most : most - most / part; };
  return {spared(kPartSpared), min(with_own(room.high), spared(kPartSparedSoft)), room.is_known};
}

// A container that may have all of the machine's memory limits nothing. What it may have is not known: the limit stays
// as it is.
size_t limit_of(size_t setting, size_t automatic, bool is_known, size_t current) {
  if (setting == 0) return SIZE_MAX;
  if (setting != Config::kAutomatic) return setting;
  if (!is_known) return current;
  return automatic < allocator.most_memory ? automatic : SIZE_MAX;
}

}  // namespace

bool Allocator::follows_container() {
  return load_shared(config.limit) == Config::kAutomatic || load_shared(config.soft_limit) == Config::kAutomatic;
}

void Allocator::bound_footprint() {
  const ContainerLimits container = follows_container() ? container_limits(footprint.held()) : ContainerLimits();
  const bool known = container.are_known;
  const LockGuard guard(pressure.lock());
  const size_t soft = limit_of(load_shared(config.soft_limit), container.high, known, footprint.soft_limit().bytes());
  footprint.set_limits(soft, limit_of(load_shared(config.limit), container.most, known, footprint.limit()));
}

void Allocator::relieve_as_passed() {
  if (thread_state.asked != 0 || !footprint.soft_limit().claim()) return;
  const ErrnoKeeper keeper;
  const auto is_above = [this] { return footprint.held() > footprint.soft_limit().bytes(); };
  // What has passed it may be gone: a request counts before the OS is asked, which may refuse it.
  if (is_above()) give_back(0, true);
  if (is_above() && pressure.ask({sizeof(snug_pressure), SNUG_PRESSURE_SOFT, footprint.held(),
                                  footprint.soft_limit().bytes(), 0, nullptr}))
    give_back(0, false);
  footprint.soft_limit().answered([this] { return footprint.held_now(); });
}

void Allocator::watch_memory() {
  const uint32_t now = os::milliseconds();
  if (!watches_memory() || now - watched_at_ < BackgroundLifecycle<BackgroundThread>::kBetweenLooks) return;
  watched_at_ = now;
  if (follows_container()) bound_footprint();
  relieve_as_passed();
  if (config.pressure == 0 || os::memory_stall() < config.pressure * 100) return;
  give_back(0, true);
  if (pressure.ask({sizeof(snug_pressure), SNUG_PRESSURE_STALL, footprint.held(), 0, 0, nullptr})) give_back(0, false);
}

}  // namespace snug
