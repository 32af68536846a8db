#include "unwind/readable_stack.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "os/readable.h"

namespace snug::unwind {

namespace {

// The number of the first page, and how many there are: one word, so that a signal handler neither finds nor leaves it
// half written.
SNUG_INITIAL_EXEC constinit thread_local Atomic<uint64_t> known_pages{0};

}  // namespace

ReadableStack::ReadableStack(uintptr_t frame) {
  const uint64_t known = known_pages.load(kRelaxed);
  first_ = known >> kCountBits;
  count_ = known & kMostPages;
  const uintptr_t page = frame >> kPageBits;
  if (page - first_ < count_) return;
  first_ = page;
  count_ = 1;
}

ReadableStack::~ReadableStack() { known_pages.store(uint64_t{first_} << kCountBits | count_, kRelaxed); }

bool ReadableStack::ask(uintptr_t page, uintptr_t word) {
  if (!os::is_readable(at<void>(word))) return false;
  if (page == first_ + count_ && count_ != kMostPages) ++count_;
  return true;
}

}  // namespace snug::unwind
