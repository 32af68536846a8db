// SentBlock: what lies in a block of the program's while it is on its way home: a link, and a seal that tells a second
// free of it. A block of a cell heap has room for both, one of malloc's for the link.
#pragma once

#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/std_atomics.h"
#include "realtime/sent_blocks.h"

namespace snug {

struct SNUG_MAY_ALIAS SentBlock {
  Atomic<SentBlock*> next;
  Atomic<uintptr_t> seal;
};

using SentBlockList = SentBlocks<SentBlock, StdAtomics>;

}  // namespace snug
