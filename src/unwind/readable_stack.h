// ReadableStack: the pages that the calling thread has found to be readable stack, so that a walk asks the kernel of
// each page once, and not once a walk.
//
// They are a row of pages with the frame that the walk begins at, and another one not far above it, as of the callers'
// frames where this walk begins deeper than those before it. Rows that meet become one. What was found holds for an
// epoch, which the caller changes where memory is unmapped; kNoEpoch is each walk's own.
#pragma once

#include <stdint.h>

namespace snug::unwind {

// Lives during one walk. A signal handler may walk meanwhile: what it finds is then lost or kept, as a whole.
class ReadableStack {
 public:
  static constexpr uint64_t kNoEpoch = ~uint64_t{0};

  // `frame` lies in the calling function's.
  ReadableStack(uintptr_t frame, uint64_t epoch);
  ~ReadableStack();
  ReadableStack(const ReadableStack&) = delete;
  ReadableStack& operator=(const ReadableStack&) = delete;

  // True if the word there can be read, and those behind it on its page.
  bool can_read(uintptr_t word) {
    const uintptr_t page = word >> kPageBits;
    return here_.has(page) || above_.has(page) || ask(page, word);
  }

 private:
  static constexpr unsigned kPageBits = 12;  // no page of the OS is smaller

  struct Row {
    uintptr_t first = 0;
    uintptr_t count = 0;

    bool has(uintptr_t page) const { return page - first < count; }
    uintptr_t end() const { return first + count; }
  };
  static uint64_t packed(const Row& row);
  static Row unpacked(uint64_t word);

  bool ask(uintptr_t page, uintptr_t word);

  const uint64_t epoch_;
  Row here_;
  Row above_;
};

}  // namespace snug::unwind
