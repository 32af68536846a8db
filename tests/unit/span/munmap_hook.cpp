#include "span/munmap_hook.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace snug::unit {
namespace {

thread_local MunmapHook* hook = nullptr;

}  // namespace

MunmapHook::MunmapHook(std::function<bool()> ask) : ask_(std::move(ask)) { hook = this; }
MunmapHook::~MunmapHook() {
  hook = nullptr;
  EXPECT_TRUE(asked_) << "nothing was unmapped";
}

bool MunmapHook::permits() {
  MunmapHook* now = std::exchange(hook, nullptr);
  if (now == nullptr) return true;
  now->asked_ = true;
  const bool permitted = now->ask_();
  hook = now;
  return permitted;
}

}  // namespace snug::unit

extern "C" int __real_munmap(void* start, std::size_t bytes);
extern "C" int __wrap_munmap(void* start, std::size_t bytes) {
  if (snug::unit::MunmapHook::permits()) return __real_munmap(start, bytes);
  errno = ENOMEM;
  return -1;
}
