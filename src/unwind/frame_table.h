// The tables that compilers write for exceptions, of code without frame pointers too, read where the dynamic linker has
// mapped them (.eh_frame_hdr, .eh_frame).
#pragma once

#include "unwind/frame_rule.h"

namespace snug::unwind {

// Unknown if the table has nothing of the address, or tells it in a way that is not understood here.
FrameRule find_table_rule(uintptr_t table, uintptr_t call);

}  // namespace snug::unwind
