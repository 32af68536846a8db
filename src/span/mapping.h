// Mapping: the memory of a large block, and behind it room to grow: addresses without memory, for which the OS accounts
// nothing.
//
//   start                  writable                    mapped
//     |======= memory =========|.......... room ...........|
//
// Room of a huge page or less is all memory; of a longer room a huge page, or an eighth of the block's length, is
// memory ahead of its use. So the OS is called once for each eighth, or huge page, by which a block grows, and promises
// no more than that beyond the requested size.
//
// However often it has grown and moved, the memory must be one mapping of the OS, as mremap moves only one. The kernel
// never merges memory made by mprotect with memory that was moved. So room becomes memory in another way: its addresses
// are released, and the memory is lengthened into them. If another thread's mapping takes them first, the block moves.
//
// For one thread at a time, which holds no shared lock: all functions here make system calls.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug {

// The part of its length, one in so many, that a large block has unused at most: as memory ahead of one that grows,
// where a step of the OS costs the fewer calls the longer it is, and behind one that shrinks.
inline constexpr size_t kPartUnused = 8;

struct Mapping {
  uintptr_t start = 0;  // 0: there is none
  size_t writable = 0;  // bytes of memory, a multiple of the OS page
  size_t mapped = 0;    // bytes of addresses, a multiple of the OS page

  // Maps that many bytes, a multiple of the OS page, zeros; there is no mapping yet. `alignment` is in bytes, a power
  // of two. False if the OS refuses.
  bool make(size_t bytes, size_t alignment);
  // The same with memory ahead, and with room.
  bool make_to_grow(size_t bytes);

  // False if a block of that many bytes needs more memory, or a huge page in which it ends could not be one.
  bool reaches(size_t bytes) const;
  // Makes the memory at least that long, at its place or another, and finds new room if `with_room`. If the OS refuses,
  // `writable` is less than requested; the memory and its contents are as before, the room may be gone.
  void grow(size_t bytes, bool with_room);

 private:
  void grow_into_room(size_t bytes);
  void drop_room();
  void find_room(size_t bytes, size_t behind_boundary);
};

}  // namespace snug
