// EmbeddedCellPolicy: the parts of a cell heap on a host without an OS, and the base of every other policy: derive from
// it, and name the parts that differ.
#pragma once

#include <stddef.h>

#include "snug/cell/fit_index.h"
#include "snug/cell/misuse.h"
#include "snug/cell/page_source.h"
#include "snug/cell/retention.h"
#include "snug/cell/trace_sink.h"
#include "snug/cell/trailer.h"

namespace snug {

struct EmbeddedCellPolicy {
  using Fit = TwoLevelBins<>;
  using Trailer = TrailerOnFree;
  using Retention = KeepPages;
  using Pages = FixedRegions;
  using Trace = NoTrace;
  using Checks = CheapChecks;
  using Misuse = TrapOnMisuse;
  static constexpr size_t kAlignment = 2 * sizeof(void*);
};

// What a cell heap's policy must have: derive it from EmbeddedCellPolicy, or from CellPolicy on an OS, and name the
// parts that differ. The compiler's error names what a wrong part lacks.
template <class Policy>
concept CellHeapPolicy = requires(typename Policy::Trace& trace, const void* block, size_t bytes) {
  typename Policy::Fit::template Index<CellLayout<Policy::kAlignment>>;
  Policy::Trailer::kBytesOfUsed;
  Policy::Retention::kWatches;
  Policy::Pages::kPageBytes;
  trace.allocated(block, bytes);
  Policy::Checks::kWalks;
  Policy::Checks::kTells;
  Policy::Misuse::misuse("", block, "");
};

}  // namespace snug
