// Misuse of a cell heap: how closely the heap looks for it, and what it does then.
//
//   CheapChecks     a free or a resize checks the address, before it reads there, then the block's head and the flag of
//                   the cell behind: finds misaligned and foreign addresses, most that lie inside a block, and blocks
//                   that are free already. O(1); a walk names what it finds. The default.
//   WalkingChecks   for debug builds: a free or a resize looks for the block among all cells of its region, and every
//                   operation proves the whole heap first: finds every address that is no live block of this heap, and
//                   damage before it is followed. O(cells).
//
// docs/cell-heap.md has a table of what either finds.
//
// A reporter decides what happens then: its misuse(call, block, reason) must not return. TrapOnMisuse stops the program
// at once and needs no library; AbortWithLine, in snug/cell_heap.h, first writes what was wrong.
#pragma once

namespace snug {

struct CheapChecks {
  static constexpr bool kWalks = false;
  static constexpr bool kTells =
      false;  // whether valgrind's memcheck is told which blocks are live (snug/base/poison.h)
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
