// Misuse of a cell heap: how closely it looks, and what it does then.
//
//   CheapChecks     a free or a resize looks at the address, before it reads there, at the block's head and at what the
//                   cell behind says of it: finds misaligned and foreign addresses, most that lie inside a block, and
//                   blocks that are free already. O(1); what it finds is named by a walk. The default.
//   WalkingChecks   for debug builds: a free or a resize looks for the block among all cells of its region, and every
//                   operation proves the whole heap first: finds every address that is no live block of this heap, and
//                   damage before it is followed. O(cells).
//
// docs/cell-heap.md has a table of what either finds.
//
// A reporter says what happens: its misuse(call, block, reason) must not return. TrapOnMisuse stops the program where
// it stands and needs nothing; AbortWithLine, in snug/cell_heap.h, says what was wrong first.
#pragma once

namespace snug {

struct CheapChecks {
  static constexpr bool kWalks = false;
  static constexpr bool kTells = false;  // valgrind's memcheck which blocks are live (snug/poison.h)
};

struct WalkingChecks {
  static constexpr bool kWalks = true;
  static constexpr bool kTells = true;
};

struct TrapOnMisuse {
  [[noreturn]] static void misuse(const char* /*call*/, const void* /*block*/, const char* /*reason*/) {
    __builtin_trap();
  }
};

}  // namespace snug
