#include "span/munmap_hook.h"

#include <cerrno>
#include <cstddef>
#include <utility>

namespace snug::unit {
namespace {

thread_local const std::function<bool()>* asked = nullptr;

}  // namespace

MunmapHook::MunmapHook(std::function<bool()> ask) : ask_(std::move(ask)) { asked = &ask_; }
MunmapHook::~MunmapHook() { asked = nullptr; }

// What is done there may unmap as well, and is not asked.
bool permits_munmap() {
  const auto* now = std::exchange(asked, nullptr);
  const bool permitted = now == nullptr || (*now)();
  asked = now;
  return permitted;
}

}  // namespace snug::unit

extern "C" int __real_munmap(void* start, std::size_t bytes);
extern "C" int __wrap_munmap(void* start, std::size_t bytes) {
  if (snug::unit::permits_munmap()) return __real_munmap(start, bytes);
  errno = ENOMEM;
  return -1;
}
