// CompactFit: the compacting heap. Blocks of one class lie in pages of their own, and of each class no more than a
// bound (kappa) of pages are not full: a free that leaves one more moves a block of the emptiest page into the fullest.
//
//   for each class   open pages <= bound            after every operation, but for those of a step
//   so that          free bytes in open pages <= bound * (blocks a page - 1) * block size
//
// Pages that hold pinned blocks are not open, and count apart. Blocks beyond the largest class have pages to
// themselves, and do not move: what lies between them is no memory, only addresses.
//
// A heap has one thread, or several that take locks (optional_lock.h): over the whole heap, or over each class, and
// inside of that over the table of handles and over the pages. A lock is dropped between the parts of a move. A thread
// that reads and writes blocks takes no lock but enters a section, through a Reader: blocks that it looks up there do
// not move until it has left (move_epochs.h). A free waits for no reader. It leaves the move to later calls, so that
// with readers the bound is exceeded by the blocks that were freed while one of them was inside.
//
// After "A Compacting Real-Time Memory Management System" (Craciunas, Kirsch, Payer, Sokolova, Stadler, Staudinger,
// USENIX ATC 2008). Allocation is O(1). A free is too, and moves at most one block, or three if earlier calls have left
// moves. A resize moves as many as a free in each of the two classes; an unpin as many as a page has blocks, and two.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "compact/block_pages.h"
#include "compact/compact_budget.h"
#include "compact/handle_table.h"
#include "compact/move_epochs.h"

namespace snug {

// What the threads of a heap take locks over. With kCores there is a heap for each core, each with one lock
// (core_heaps.h).
enum class Sharing : uint8_t { kOneThread, kHeap, kClasses, kCores };

class CompactFit {
 public:
  static constexpr size_t kNever = ~size_t{0};  // a bound: blocks move only in step()
  static constexpr size_t kIncrement = 4096;

  // Belongs to one thread, or to another unit of execution that is in one section at a time.
  struct Reader : MoveEpochs<>::Reader {
    bool is_open = false;
  };

  // Which readers are in a section, and since when.
  struct Readers {
    MoveEpochs<> epochs;
    Atomic<Reader*> first{nullptr};  // the chain of all readers ever made
  };

  // `others`: of heaps that share a range of handles, all but the first use the first one's readers.
  CompactFit(const BlockMap& map, PageSource source, uint16_t salt, Sharing sharing, Readers* others = nullptr);

  // To open the table, before any use; and for callers that look up addresses inline.
  HandleTable& handles() { return handles_; }
  const HandleTable& handles() const { return handles_; }

  // 0: there is no memory.
  HandleWord allocate(size_t bytes, size_t alignment);
  // A block that `relocate` moves, in one go; it must not use the heap.
  HandleWord allocate(size_t bytes, size_t alignment, Relocate relocate);
  void free(HandleWord handle);
  // False: there is no memory, or the block is pinned and too short; it is as it was.
  bool resize(HandleWord handle, size_t bytes, size_t alignment);
  // Frees all blocks, the heap's own readers, and the table. No block may be pinned.
  void close();

  // The block's address; calls off a move of the block, for which it waits for the class's lock if a function moves the
  // class's blocks. Null if the handle names none. To be called by a heap's only thread, or in a section.
  char* find(HandleWord handle);
  // The same, but the process ends.
  char* address(HandleWord handle, const char* call);
  size_t usable(HandleWord handle);

  // Null if the block is pinned as often as can be.
  char* pin(HandleWord handle);
  void unpin(HandleWord handle);

  bool is_shared() const { return sharing_ != Sharing::kOneThread; }
  // Null: there is no memory.
  Reader* open_reader();
  // The reader must be outside of a section.
  void close_reader(Reader* reader);
  void enter(Reader& reader) {
    if (readers_.epochs.enter(reader) != 0) [[unlikely]]
      die_inside("snug_compact_enter", reader);
  }
  void leave(Reader& reader) { readers_.epochs.leave(reader); }
  const MoveEpochs<>::Slot& epoch() const { return readers_.epochs.epoch(); }
  Readers& readers() { return readers_; }

  void set_bound(size_t bound);
  // False: there is no memory.
  bool set_bound_of(size_t bytes, size_t bound);
  void set_increment(size_t bytes) { increment_.store(bytes, kRelaxed); }
  // Compacts down to one open page a class. True if something is left to do. With a budget it makes no system call,
  // except to wait for a lock: pages that have emptied are left to later calls.
  bool step(CompactBudget& budget);
  // Gives at most so many rows of empty pages to the OS. Returns how many went: fewer if no more are to go.
  size_t give_back(size_t rows) { return pages_.give_back_rows(rows); }
  // Gives up the moves that are under way.
  void settle();

  // visit(handle, block, bytes) for each live block.
  template <class Visit>
  void for_each_block(Visit visit) {
    const Standstill standstill(*this);
    pages_.lock().assume_held();
    pages_.for_each_page([&](const CompactPage& page) {
      for (size_t i = 0; i < page.blocks; ++i)
        if (page.holds(i) && handles_.address(page.owner(i).slot()) == page.block_at(i)) {
          handles_.call_off(page.owner(i).slot());  // so that a move loses nothing that visit() writes
          visit(handles_.handle(page.owner(i).slot()), page.block_at(i), page.block);
        }
    });
  }

  struct Totals {
    BlockPages::Totals pages;
    size_t bytes_handles = 0;
    // How often a thread had to wait for a lock.
    uint64_t waits_heap = 0;
    uint64_t waits_handles = 0;
    uint64_t waits_pages = 0;

    void add(const Totals& others);
  };
  Totals totals() const;  // O(classes)
  size_t totals_of(size_t bytes, Totals& totals) const;
  const char* check() const SNUG_UNPROVED;

 private:
  using Place = BlockPages::Place;
  // If there are readers, a call does so many moves beyond its own: one that it finds under way, and one more, to catch
  // up on the moves that readers have held up.
  static constexpr size_t kMovesMadeUpFor = 2;
  static constexpr size_t kAllMoves = ~size_t{0};
  // The state of a move: there is more to do, it waits for readers, or it is over.
  enum class Progress { kMore, kWaits, kOver };

  // Whether empty pages go back when a lock is dropped, or wait.
  enum class Emptied { kGoes, kWaits };

  // Holds a class's lock, or that of large blocks; takes the heap's before it. Costs one test if the heap has one
  // thread.
  class SNUG_SCOPED_LOCK ClassGuard {
   public:
    ClassGuard(CompactFit& heap, OptionalLock& lock, Emptied emptied = Emptied::kGoes) SNUG_ACQUIRE(lock) SNUG_UNPROVED
        : heap_(heap),
          lock_(heap.is_shared() ? &lock : nullptr),
          emptied_(emptied) {
      if (lock_ != nullptr) [[unlikely]]
        heap.lock_.lock(), lock_->lock();
    }
    ~ClassGuard() SNUG_RELEASE() SNUG_UNPROVED {
      heap_.unlock(lock_);
      if (emptied_ == Emptied::kGoes) heap_.pages_.give_back();
    }
    ClassGuard(const ClassGuard&) = delete;
    ClassGuard& operator=(const ClassGuard&) = delete;

   private:
    CompactFit& heap_;
    OptionalLock* const lock_;
    const Emptied emptied_;
  };
  // Holds the lock of the class of a handle's block, and has the block's place, valid meanwhile.
  class BlockGuard {
   public:
    // The process ends if the handle names no block.
    BlockGuard(CompactFit& heap, HandleWord handle, const char* call) : heap_(heap) {
      if (!heap.is_shared()) [[likely]]
        place = heap.pages_.place_of(heap.block_of(handle, call));
      else if (!take(handle))
        expect(nullptr, handle, call);
    }
    // For a heap of several threads: `place` has no page if the handle names no block, or none any more.
    BlockGuard(CompactFit& heap, HandleWord handle) : heap_(heap) { take(handle); }
    ~BlockGuard() {
      heap_.unlock(lock_);
      heap_.pages_.give_back();
    }
    BlockGuard(const BlockGuard&) = delete;
    BlockGuard& operator=(const BlockGuard&) = delete;

   private:
    SNUG_NOINLINE bool take(HandleWord handle) SNUG_UNPROVED;

    CompactFit& heap_;
    OptionalLock* lock_ = nullptr;

   public:
    Place place;
  };
  // Holds all locks.
  class Standstill {
   public:
    explicit Standstill(const CompactFit& heap) SNUG_UNPROVED;
    ~Standstill() SNUG_UNPROVED;

   private:
    bool holds_all() SNUG_UNPROVED;

    const CompactFit& heap_;
    const PageBin* held_[BlockPages::kMostBins] = {};
  };

  // Does nothing for null: no lock was taken.
  void unlock(OptionalLock* lock) SNUG_UNPROVED {
    if (lock != nullptr) [[unlikely]]
      lock->unlock(), lock_.unlock();
  }
  HandleWord name(Place place) SNUG_REQUIRES(handle_lock_);
  // Takes the handles' lock, inside the class's.
  HandleWord name_and_lock(Place place) SNUG_EXCLUDES(handle_lock_);
  template <class Take>
  HandleWord with_handle(Take take);
  HandleWord allocate_of(size_t size_class);
  Place take_from(PageBin& bin) SNUG_REQUIRES(bin.lock);
  HandleWord allocate_large(size_t bytes, size_t alignment, Relocate relocate);
  // Returns the block; ends the process if it is null.
  static char* expect(char* block, HandleWord handle, const char* call);
  char* block_of(HandleWord handle, const char* call) const { return expect(handles_.find(handle), handle, call); }
  OptionalLock& lock_of(const PageBin* bin) const { return bin == nullptr ? large_lock_ : bin->lock; }
  SNUG_COLD void give_back_leaf(size_t leaf);
  Reader* reopen_reader();
  // The caller holds the lock of the place's class, or of large blocks: which of them it is only the place tells.
  void pin_place(Place place) SNUG_UNPROVED;
  void unpin_place(Place place) SNUG_UNPROVED;
  Place take_and_pin(size_t bytes, size_t alignment, size_t slot);
  void set_bound_of(PageBin& bin, size_t bound);
  // How many moves a call may make to restore the bound, where `own` would do had the bound been kept before.
  size_t most_moves(size_t own) const {
    return readers_.first.load(kRelaxed) == nullptr ? kAllMoves : own + kMovesMadeUpFor;
  }
  void keep_bound(PageBin& bin, size_t most_moves) SNUG_EXCLUDES(bin.lock);
  // One part of the move under way; or begins one, for which the bin has two open pages or more. Spends of the budget,
  // which the caller has asked. kOver: finished, or called off by what a reader found; kWaits: a reader is still
  // inside.
  Progress advance(PageBin& bin, CompactBudget& budget) SNUG_REQUIRES(bin.lock);
  void begin_move(PageBin& bin) SNUG_REQUIRES(bin.lock);
  [[noreturn]] SNUG_COLD static void die_inside(const char* call, const Reader& reader);
  bool finish_move(PageBin& bin) SNUG_REQUIRES(bin.lock);
  Progress call_off(PageBin& bin) SNUG_REQUIRES(bin.lock);
  void abort_move(PageBin& bin) SNUG_REQUIRES(bin.lock);
  void abort_move_of(Place place) SNUG_UNPROVED;  // as pin_place()
  // Checks, under a Standstill.
  const char* check_owners(const CompactPage& page, size_t* blocks, size_t* pins) const SNUG_UNPROVED;
  const char* check_readers() const;
  bool is_move_sound(const PageBin& bin) const SNUG_UNPROVED;

  const Sharing sharing_;
  BlockPages pages_;
  HandleTable handles_;
  mutable OptionalLock lock_;               // over the whole heap
  mutable OptionalLock large_lock_;         // over large blocks
  mutable SharedOptionalLock handle_lock_;  // over changes of handles_, inside a class's lock
  Atomic<size_t> increment_{kIncrement};
  Atomic<size_t> next_class_{0};  // where the next step begins
  size_t large_pins_ SNUG_GUARDED_BY(large_lock_) = 0;
  Readers own_readers_;
  Readers& readers_;
};

}  // namespace snug
