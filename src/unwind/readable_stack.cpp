#include "unwind/readable_stack.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/fixed_array.h"
#include "os/readable.h"

namespace snug::unwind {

namespace {

constexpr unsigned kCountBits = 28;
constexpr uint64_t kMostPages = (uint64_t{1} << kCountBits) - 1;
constexpr uintptr_t kMostGap = 256;  // pages

// Each row is one word, so that a signal handler neither finds nor leaves it half written.
SNUG_INITIAL_EXEC constinit thread_local Atomic<uint64_t> known_here{0};
SNUG_INITIAL_EXEC constinit thread_local Atomic<uint64_t> known_above{0};
SNUG_INITIAL_EXEC constinit thread_local Atomic<uint64_t> known_epoch{ReadableStack::kNoEpoch};

}  // namespace

uint64_t ReadableStack::packed(const Row& row) { return uint64_t{row.first} << kCountBits | row.count; }

ReadableStack::Row ReadableStack::unpacked(uint64_t word) {
  return {static_cast<uintptr_t>(word >> kCountBits), static_cast<uintptr_t>(word & kMostPages)};
}

ReadableStack::ReadableStack(uintptr_t frame, uint64_t epoch) : epoch_(epoch) {
  const uintptr_t page = frame >> kPageBits;
  here_ = {page, 1};
  if (epoch == kNoEpoch || known_epoch.load(kRelaxed) != epoch) return;
  for (const uint64_t known : FixedArray<uint64_t, 2>{known_here.load(kRelaxed), known_above.load(kRelaxed)}) {
    const Row row = unpacked(known);
    if (row.has(page)) here_ = row;
    if (row.first > page && row.first - page <= kMostGap) above_ = row;
  }
  if (here_.has(above_.first)) above_ = {};
}

ReadableStack::~ReadableStack() {
  if (epoch_ == kNoEpoch) return;
  known_epoch.store(kNoEpoch, kRelaxed);  // while the rows belong to two walks, for a signal handler
  known_here.store(packed(here_), kRelaxed);
  known_above.store(packed(above_), kRelaxed);
  known_epoch.store(epoch_, kRelaxed);
}

// A frame of several pages leaves a gap behind the row: its pages are asked for as well, once, or what lies beyond them
// would be asked for in each walk.
bool ReadableStack::ask(uintptr_t page, uintptr_t word) {
  if (!os::is_readable(at<void>(word))) return false;
  if (page < here_.end() || page - here_.end() > kMostGap || here_.count > kMostPages - kMostGap - 1) return true;
  while (here_.end() != page && os::is_readable(at<void>(here_.end() << kPageBits))) ++here_.count;
  if (here_.end() != page) return true;
  ++here_.count;
  if (here_.end() != above_.first || here_.count > kMostPages - above_.count) return true;
  here_.count += above_.count;
  above_ = {};
  return true;
}

}  // namespace snug::unwind
