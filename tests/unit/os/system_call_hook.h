// Stands before the library's system calls in the unit tests: counts one of them, refuses it, or does something while
// it is on its way to the kernel.
#pragma once

#include <cerrno>
#include <functional>

namespace snug::unit {

// While it lives, `ask` is asked before each system call of this number that this thread makes: false refuses it, with
// `error`. One at a time; a test in which it is never asked fails. No process-wide lock is held, so that `ask` may use
// what is tested.
class SystemCallHook {
 public:
  SystemCallHook(long number, std::function<bool()> ask, int error = ENOMEM);
  ~SystemCallHook();
  SystemCallHook(const SystemCallHook&) = delete;
  SystemCallHook& operator=(const SystemCallHook&) = delete;

  // What is done in the hook of this thread may make the call as well, and is not asked.
  // Null, or the hook that refuses.
  static const SystemCallHook* refuses(long number);
  int error() const { return error_; }

 private:
  const long number_;
  std::function<bool()> ask_;
  const int error_;
  bool asked_ = false;
};

}  // namespace snug::unit
