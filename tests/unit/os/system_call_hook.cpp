#include "os/system_call_hook.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/errno_keeper.h"
#include "base/system_call.h"

namespace snug {
namespace unit {
namespace {

thread_local SystemCallHook* hook = nullptr;

}  // namespace

SystemCallHook::SystemCallHook(long number, std::function<bool()> ask, int error)
    : number_(number), ask_(std::move(ask)), error_(error) {
  hook = this;
}
SystemCallHook::~SystemCallHook() {
  hook = nullptr;
  EXPECT_TRUE(asked_) << "system call " << number_ << " was not made";
}

const SystemCallHook* SystemCallHook::refuses(long number) {
  if (hook == nullptr || hook->number_ != number) return nullptr;
  SystemCallHook* now = std::exchange(hook, nullptr);
  now->asked_ = true;
  const bool permitted = now->ask_();
  hook = now;
  return permitted ? nullptr : now;
}

}  // namespace unit

// In place of the library's own, which the linker then leaves in the archive.
long call_kernel(long number, long first, long second, long third, long fourth, long fifth, long sixth) {
  const ErrnoKeeper keeper;
  if (const auto* const hook = unit::SystemCallHook::refuses(number)) return -hook->error();
  const long answer = ::syscall(number, first, second, third, fourth, fifth, sixth);
  return answer == -1 ? -errno : answer;
}

}  // namespace snug
