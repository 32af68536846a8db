// EmbeddedCellPolicy: what a cell heap on a host without an OS is made of, and the base of every other policy: derive,
// and name what is to be different.
#pragma once

#include <stddef.h>

#include "snug/cell/fit_index.h"
#include "snug/cell/misuse.h"
#include "snug/cell/page_source.h"
#include "snug/cell/retention.h"
#include "snug/cell/trace.h"
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

}  // namespace snug
