// ReadableStack: the pages that the calling thread has found to be readable stack, so that a walk asks the kernel of
// each page once in the thread's life and not once a walk.
//
// They are two rows of pages: one with the frame that the walk began at, and another one, as of the callers' frames
// where this walk begins deeper than those before it, or of the stack that the thread was on before. Rows that meet
// become one.
#pragma once

#include <stdint.h>

namespace snug::unwind {

// Lives during one walk. A signal handler may walk meanwhile: what it finds is then lost or kept, as a whole.
class ReadableStack {
 public:
  // `frame` lies in the calling function's.
  explicit ReadableStack(uintptr_t frame);
  ~ReadableStack();
  ReadableStack(const ReadableStack&) = delete;
  ReadableStack& operator=(const ReadableStack&) = delete;

  // True if the word there can be read, and those behind it on its page.
  bool can_read(uintptr_t word) {
    const uintptr_t page = word >> kPageBits;
    return here_.has(page) || other_.has(page) || ask(page, word);
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

  Row here_;
  Row other_;
};

}  // namespace snug::unwind
