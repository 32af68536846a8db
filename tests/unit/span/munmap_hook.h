// Stands before munmap in the unit tests (the linker's --wrap): refuses it, or does something while memory is on its
// way to the OS.
#pragma once

#include <functional>

namespace snug::unit {

// While it lives, `ask` is asked before each munmap of this thread: false refuses it. One at a time; a test in which it
// is never asked fails. What a live block has too much is unmapped under the store's lock: `ask` is not to call it
// then.
class MunmapHook {
 public:
  explicit MunmapHook(std::function<bool()> ask);
  ~MunmapHook();
  MunmapHook(const MunmapHook&) = delete;
  MunmapHook& operator=(const MunmapHook&) = delete;

  // What is done in the hook of this thread may unmap as well, and is not asked.
  static bool permits();

 private:
  std::function<bool()> ask_;
  bool asked_ = false;
};

}  // namespace snug::unit
