// Mapping: the memory of a large block, and behind it room to grow: addresses that are no memory, and that no OS counts
// as promised.
//
//   start                  writable                    mapped
//     |======= memory =========|.......... room ...........|
//
// A block of which a huge page or less is room has all of it as memory; of a longer one a huge page, or a sixteenth of
// its length, is memory ahead of its use. So the OS is called once for each sixteenth that a block grows by, or huge
// page, and promises no more than that beyond what the program has asked for.
//
// However often it has grown and moved, the memory is one mapping of the OS: mremap moves no more than one. The kernel
// never merges what mprotect makes memory with memory that has been moved. So room becomes memory otherwise: the OS
// gets the addresses back, and makes the memory longer into them. If another thread's mapping comes between, the block
// moves.
//
// For one thread at a time, without a lock that others share: everything here makes system calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

struct Mapping {
  uintptr_t start = 0;  // 0: there is none
  size_t writable = 0;  // bytes of memory, a multiple of the OS page
  size_t mapped = 0;    // bytes of addresses, a multiple of the OS page

  // Maps that many bytes, zeros. False if the OS refuses.
  bool make(size_t bytes, size_t alignment);
  // The same with memory ahead, and with room if it may have any.
  bool make_to_grow(size_t bytes, bool with_room);

  // False if a block of that many bytes needs more memory, or a huge page in which it ends could not be one.
  bool reaches(size_t bytes) const;
  // Makes the memory that long at least, at its place or another, and finds new room if it may. If the OS refuses,
  // `writable` is less than asked for; the memory and its contents are as before, the room may be gone.
  void grow(size_t bytes, bool with_room);

 private:
  void grow_into_room(size_t bytes);
  void drop_room();
  void find_room(size_t bytes, size_t behind_boundary);
};

}  // namespace snug
