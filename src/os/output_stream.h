// OutputStream: bytes to an open descriptor, by a buffer of its own, or to memory. Leaves errno alone; allocates
// nothing.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/algorithm.h"
#include "base/system_call.h"

namespace snug::os {

class OutputStream {
 public:
  explicit OutputStream(long descriptor) : descriptor_(descriptor) {}
  // Beyond `capacity` bytes nothing is written, and the error is ENOSPC.
  OutputStream(char* memory, size_t capacity) : memory_(memory), capacity_(capacity) {}
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  void put(const void* bytes, size_t count) {
    for (const auto* next = static_cast<const char*>(bytes); count != 0;) {
      const size_t part = min(count, sizeof buffer_ - length_);
      memcpy(buffer_ + length_, next, part);
      length_ += part;
      next += part;
      count -= part;
      if (length_ == sizeof buffer_) flush();
    }
  }
  void put(const char* words) { put(words, strlen(words)); }
  // Bytes so far, without those that are still in the buffer.
  size_t written() const { return written_; }
  // The errno number of the first write that failed, or 0.
  int flush() {
    write(buffer_, length_);
    length_ = 0;
    return error_;
  }

 private:
  void write(const void* bytes, size_t count) {
    if (memory_ != nullptr) return copy(bytes, count);
    for (const auto* next = static_cast<const char*>(bytes); count != 0 && error_ == 0;) {
      const long written = persistent_system_call(SYS_write, descriptor_, next, count);
      if (written <= 0) {  // 0: nor would it take more of it
        error_ = written < 0 ? static_cast<int>(-written) : EIO;
        return;
      }
      written_ += static_cast<size_t>(written);
      next += written;
      count -= static_cast<size_t>(written);
    }
  }

  void copy(const void* bytes, size_t count) {
    if (count > capacity_ - written_) error_ = ENOSPC;
    if (error_ != 0) return;
    memcpy(memory_ + written_, bytes, count);
    written_ += count;
  }

  const long descriptor_ = -1;
  char* const memory_ = nullptr;
  const size_t capacity_ = 0;
  size_t written_ = 0;
  int error_ = 0;
  size_t length_ = 0;
  unsigned char buffer_[4096];
};

}  // namespace snug::os
