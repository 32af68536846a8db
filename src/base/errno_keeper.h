// ErrnoKeeper: restores errno at its scope's end to the value at its beginning. Whatever free() calls must leave errno
// alone; libc's system calls do not.
#pragma once

#include <errno.h>

namespace snug {

class ErrnoKeeper {
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

}  // namespace snug
