// A file that is read without stdio and without memory of its own. Leaves errno alone.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug::os {

class InputFile {
 public:
  // Never waits: a pipe without a writer is empty.
  explicit InputFile(const char* path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Fills a part of `bytes`; returns how many were read: 0 at the end of the file, and after an error.
  size_t read(void* bytes, size_t capacity);
  // The next read begins at this byte. Not by pread(), which fewer filters of system calls allow than lseek().
  void seek(uint64_t offset);
  // Null, or why the file could not be opened or read: a sentence without a full stop.
  const char* fault() const;
  // The same as an errno number; 0 if there was no error.
  int error() const { return error_; }

 private:
  long descriptor_;
  int error_ = 0;
};

}  // namespace snug::os
