// Stands before munmap in the unit tests (the linker's --wrap): refuses it, or does something while memory is on its
// way to the OS.
#pragma once

#include <functional>

namespace snug::unit {

// While it lives, `ask` is asked before each munmap of this thread: false refuses it. One at a time.
class MunmapHook {
 public:
  explicit MunmapHook(std::function<bool()> ask);
  ~MunmapHook();
  MunmapHook(const MunmapHook&) = delete;
  MunmapHook& operator=(const MunmapHook&) = delete;

 private:
  std::function<bool()> ask_;
};

}  // namespace snug::unit
