// Stands before munmap in the unit tests (the linker's --wrap): refuses it, or does something while memory is on its
// way to the OS.
#pragma once

#include <functional>

namespace snug::unit {

bool permits_munmap();

// While it lives, `ask` is asked before each munmap of this thread: false refuses it. One at a time; a test in which it
// is never asked fails. What a live block has too much is unmapped under the store's lock: `ask` is not to call it
// then.
class MunmapHook {
 public:
  explicit MunmapHook(std::function<bool()> ask);
  ~MunmapHook();
  MunmapHook(const MunmapHook&) = delete;
  MunmapHook& operator=(const MunmapHook&) = delete;

 private:
  friend bool permits_munmap();

  std::function<bool()> ask_;
  bool asked_ = false;
};

}  // namespace snug::unit
