// ErrnoKeeper: leaves errno at its scope's end as it was at its beginning. What free() may call promises that errno
// survives; system calls do not.
#pragma once

#include <cerrno>

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
