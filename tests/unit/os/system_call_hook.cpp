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

SystemCallHook::SystemCallHook(long number, std::function<bool()> ask) : number_(number), ask_(std::move(ask)) {
  hook = this;
}
SystemCallHook::~SystemCallHook() {
  hook = nullptr;
  EXPECT_TRUE(asked_) << "system call " << number_ << " was not made";
}

bool SystemCallHook::permits(long number) {
  if (hook == nullptr || hook->number_ != number) return true;
  SystemCallHook* now = std::exchange(hook, nullptr);
  now->asked_ = true;
  const bool permitted = now->ask_();
  hook = now;
  return permitted;
}

}  // namespace unit

// In place of the library's own, which the linker then leaves in the archive.
long call_kernel(long number, long first, long second, long third, long fourth, long fifth, long sixth) {
  const ErrnoKeeper keeper;
  if (!unit::SystemCallHook::permits(number)) return -ENOMEM;
  const long answer = ::syscall(number, first, second, third, fourth, fifth, sixth);
  return answer == -1 ? -errno : answer;
}

}  // namespace snug
