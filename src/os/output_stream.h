// OutputStream: bytes to an open descriptor, by a buffer of its own. Leaves errno alone; allocates nothing.
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/system_call.h"

namespace snug::os {

class OutputStream {
 public:
  explicit OutputStream(long descriptor) : descriptor_(descriptor) {}
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  void put(const void* bytes, size_t count) {
    if (count > sizeof buffer_ - length_) flush();
    if (count > sizeof buffer_) return write(bytes, count);
    memcpy(buffer_ + length_, bytes, count);
    length_ += count;
  }
  // The errno number of the first write that failed, or 0.
  int flush() {
    write(buffer_, length_);
    length_ = 0;
    return error_;
  }

 private:
  void write(const void* bytes, size_t count) {
    for (const auto* next = static_cast<const char*>(bytes); count != 0 && error_ == 0;) {
      const long written = persistent_system_call(SYS_write, descriptor_, next, count);
      if (written < 0) error_ = static_cast<int>(-written);
      if (written < 0) return;
      next += written;
      count -= static_cast<size_t>(written);
    }
  }

  const long descriptor_;
  int error_ = 0;
  size_t length_ = 0;
  unsigned char buffer_[4096];
};

}  // namespace snug::os
