// ReadableStack: the pages that the calling thread has found to be readable stack, so that a walk asks the kernel of
// each page once in the thread's life and not once a walk.
//
// They are one row of pages, which begins at the one with the frame that a walk began at. Beyond it each page is asked
// for.
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
    return page - first_ < count_ || ask(page, word);
  }

 private:
  static constexpr unsigned kPageBits = 12;  // no page of the OS is smaller
  static constexpr unsigned kCountBits = 28;
  static constexpr uint64_t kMostPages = (uint64_t{1} << kCountBits) - 1;

  bool ask(uintptr_t page, uintptr_t word);

  uintptr_t first_;
  uint64_t count_;
};

}  // namespace snug::unwind
