// CompactFit: the compacting heap. Blocks of one class lie in pages of their own, and of each class no more than a
// bound (kappa) of pages are not full: a free that leaves one more moves a block of the emptiest page into the fullest.
//
//   for each class   open pages <= bound            after every operation, but for those of a step
//   so that          free bytes in open pages <= bound * (blocks a page - 1) * block size
//
// Pages that hold pinned blocks are not open, and count apart. Blocks beyond the largest class have pages to
// themselves, and do not move: what lies between them is no memory, only addresses.
//
// After "A Compacting Real-Time Memory Management System" (Craciunas, Kirsch, Payer, Sokolova, Stadler, Staudinger,
// USENIX ATC 2008). Not thread-safe. Allocation is O(1); a free too, and moves at most one block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compact/block_pages.h"
#include "compact/handle_table.h"
#include "compact/move.h"

namespace snug {

class CompactFit {
 public:
  static constexpr size_t kNever = ~size_t{0};  // a bound: nothing moves unless a step is asked for
  static constexpr size_t kIncrement = 4096;

  struct Moves {
    uint64_t finished = 0;
    uint64_t bytes = 0;
    uint64_t aborted = 0;
  };

  CompactFit(const BlockMap& map, PageSource source, HandleTable handles, size_t bound, size_t increment);

  // 0: there is no memory.
  HandleWord allocate(size_t bytes, size_t alignment);
  // A block that is moved by `relocate`, in one go, which must not use the heap.
  HandleWord allocate(size_t bytes, size_t alignment, Relocate relocate);
  void free(HandleWord handle);
  // False: there is no memory, or the block is pinned and too short; it is as it was.
  bool resize(HandleWord handle, size_t bytes, size_t alignment);
  // All blocks go, and the table. Nothing may be pinned.
  void close();

  // Where the block lies; a move of it is given up. Null if the handle names none.
  char* find(HandleWord handle);
  // The same, but the process ends.
  char* address(HandleWord handle, const char* call);
  size_t usable(HandleWord handle);

  // Null if the block is pinned as often as can be.
  char* pin(HandleWord handle);
  void unpin(HandleWord handle);

  void set_bound(size_t bound);
  void set_bound_of(size_t bytes, size_t bound);
  void set_increment(size_t bytes) { increment_ = bytes; }
  // Down to one open page a class. True if something is left to do.
  bool step(CompactBudget budget);
  // Gives up what a step has begun.
  void settle() {
    if (move_.is_under_way()) [[unlikely]]
      abort_move();
  }
  size_t trim() { return handles_.trim(); }

  const BlockPages& pages() const { return pages_; }
  const HandleTable& handles() const { return handles_; }
  const Moves& moves() const { return moves_; }
  bool is_moving() const { return move_.is_under_way(); }
  size_t pins() const { return pins_; }
  size_t bytes_bound() const;
  const char* check() const;

 private:
  HandleWord name(BlockPages::Place place);
  BlockPages::Place place_of(HandleWord handle, const char* call);
  void give(BlockPages::Place place);
  void keep_bound(PageBin& bin);
  void begin_move(PageBin& bin);
  bool go_on(CompactBudget& budget);
  void finish_move();
  void abort_move();
  const char* check_owners(const CompactPage& page, size_t* blocks) const;

  BlockPages pages_;
  HandleTable handles_;
  Move move_;
  size_t bound_;  // of classes that are yet to come
  size_t increment_;
  size_t next_class_ = 0;  // where the next step begins
  size_t pins_ = 0;
  Moves moves_;
};

}  // namespace snug
