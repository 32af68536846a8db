// MapReader: reads a size-class map's text, piece by piece, without memory of its own: malloc is not there yet when the
// drop-in asks for it. The thread that opens the allocator reads a map, under its lock of opening, for which a fork
// waits.
//
//   # a comment, to the end of its line
//   16 1023          bytes of a block, blocks that a thread may cache: one class a line, sizes rising
//   32 1023
//
// ClassList decides which classes are valid. The first fault ends the reading; line() is then its line.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "size/class_list.h"

namespace snug {

class MapReader {
 public:
  static constexpr size_t kLongestFile = size_t{64} << 10;  // bytes: a longer file was named by mistake

  // Reads the next piece of the text. False if a fault was found: further pieces are ignored.
  bool read(const char* bytes, size_t count);
  // Called at the end of the text. False if it has a fault.
  bool finish();

  const char* fault() const { return fault_; }           // null, or a sentence without a full stop
  uint32_t line() const { return line_; }                // from 1
  const ClassList& classes() const { return classes_; }  // without a fault: complete after finish()

 private:
  enum class Place { kLineStart, kSize, kAfterSize, kCached, kAfterCached, kComment };

  void take(char c);
  void take_digit(char c);
  void end_line();

  ClassList classes_;
  Place place_ = Place::kLineStart;
  uint64_t size_ = 0;
  uint64_t cached_ = 0;
  bool has_class_ = false;  // on this line
  size_t length_ = 0;
  uint32_t line_ = 1;
  const char* fault_ = nullptr;
};

}  // namespace snug
