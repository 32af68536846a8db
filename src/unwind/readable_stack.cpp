#include "unwind/readable_stack.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "os/readable.h"

namespace snug::unwind {

namespace {

constexpr unsigned kCountBits = 28;
constexpr uint64_t kMostPages = (uint64_t{1} << kCountBits) - 1;
constexpr uintptr_t kMostGap = 256;  // pages

// Each row is one word, so that a signal handler neither finds nor leaves it half written.
SNUG_INITIAL_EXEC constinit thread_local Atomic<uint64_t> known_here{0};
SNUG_INITIAL_EXEC constinit thread_local Atomic<uint64_t> known_other{0};

}  // namespace

uint64_t ReadableStack::packed(const Row& row) { return uint64_t{row.first} << kCountBits | row.count; }

ReadableStack::Row ReadableStack::unpacked(uint64_t word) {
  return {static_cast<uintptr_t>(word >> kCountBits), static_cast<uintptr_t>(word & kMostPages)};
}

ReadableStack::ReadableStack(uintptr_t frame)
    : here_(unpacked(known_here.load(kRelaxed))), other_(unpacked(known_other.load(kRelaxed))) {
  const uintptr_t page = frame >> kPageBits;
  if (here_.has(page)) return;
  const Row before = here_;
  here_ = other_.has(page) ? other_ : Row{page, 1};
  other_ = before;
}

ReadableStack::~ReadableStack() {
  known_here.store(packed(here_), kRelaxed);
  known_other.store(packed(other_), kRelaxed);
}

// A frame of several pages leaves a gap behind the row: its pages are asked for as well, once, or what lies beyond them
// would be asked for in each walk.
bool ReadableStack::ask(uintptr_t page, uintptr_t word) {
  if (!os::is_readable(at<void>(word))) return false;
  if (page < here_.end() || page - here_.end() > kMostGap || here_.count > kMostPages - kMostGap - 1) return true;
  while (here_.end() != page && os::is_readable(at<void>(here_.end() << kPageBits))) ++here_.count;
  if (here_.end() != page) return true;
  ++here_.count;
  if (here_.end() != other_.first || here_.count > kMostPages - other_.count) return true;
  here_.count += other_.count;
  other_ = {};
  return true;
}

}  // namespace snug::unwind
