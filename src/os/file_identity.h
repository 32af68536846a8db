// FileIdentity: which file an open descriptor leads to, by device and inode.
#pragma once

#include <stdint.h>

namespace snug::os {

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Of no file if the descriptor is not open. A system call.
FileIdentity identity_of(long descriptor);

}  // namespace snug::os
