// Misuse of a cell heap: how closely it looks, and what it does then.
//
//   CheapChecks     a free or a resize looks at flags that it has read anyway: finds a block that is free already, and
//   a
//                   neighbour's damaged head. About four instructions. The default.
//   WalkingChecks   for debug builds: looks for the block among all cells of its region, and at each on the way: finds
//                   every address that is no live block of this heap. O(cells).
//
// A reporter says what happens: its misuse(call, block, reason) must not return. TrapOnMisuse stops the program where
// it stands and needs nothing; AbortWithLine, in snug/cell_heap.h, says what was wrong first.
#pragma once

namespace snug {

struct CheapChecks {
  static constexpr bool kWalks = false;
};

struct WalkingChecks {
  static constexpr bool kWalks = true;
};

struct TrapOnMisuse {
  [[noreturn]] static void misuse(const char* /*call*/, const void* /*block*/, const char* /*reason*/) {
    __builtin_trap();
  }
};

}  // namespace snug
