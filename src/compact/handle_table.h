// HandleTable: maps handles to addresses of blocks. A handle is a slot of the table and the generation of the block
// that the slot serves, so that a handle which has outlived its block names nothing.
//
//   handle   1 | generation: 15 | 0: 16 | slot: 32
//            the generation: the block's number among those of its slot (1 … 32767), exclusive or the heap's salt, so
//            that handles of other heaps differ in it
//   slot     handle ^ address            in use; without the highest bit while the block moves
//            number of the next block    free, up to 32767; 0: it has served none yet
//
// So `slot ^ handle` is the block's address, or beyond all addresses if the handle names no block, or one that moves: a
// dereference is a load, an exclusive or and a comparison. What is in use is no small number, since addresses exceed
// the numbers of slots (the table has 8 bytes for each, in a region below all blocks).
//
// A slot that has served 32767 blocks is retired, and slot 0 serves none: handle 0 is none. Several tables may share
// one range of slots, each with a part of it: its slots are counted from the part's first, and handles name them by
// their number in the range. The lowest free slot is taken first. A tree of bits, one for each slot and above for 64 of
// the level below, finds it: a bit is set where nothing is free.
//
// So the end of the table empties, and goes back to the OS: a leaf (16 KiB of slots) that empties waits for the next
// one, and the higher of both goes, so that a table which grows and shrinks by one block makes no system calls. A leaf
// keeps the highest number of a block in it, at which its slots continue when they are used again.
//
//   live_ == slots below end_ in use;   above none is.   For each leaf, used == its slots in use, slot 0 among them
//   leaves_backed_ == leaves that are not unbacked: those in use, empty ones that have not gone, and those that leave
//
// The table lies in addresses that are reserved once, and are made writable as it grows: a slot never moves. One thread
// at a time changes it, but for moves, which the lock of the block's class guards. Any thread may call find(), while
// another moves blocks too, if it is in a section (MoveEpochs::enter): slots are read as move_epochs.h says. System
// calls happen without a lock: a leaf on its way back is out of use meanwhile, and add() on a full table of several
// threads only notes that, so that grow() grows it. O(1).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "compact/move_epochs.h"
#include "compact/optional_lock.h"
#include "compact/page.h"

namespace snug {

using HandleWord = uint64_t;

class HandleTable {
 public:
  static constexpr size_t kMostSlots = size_t{1} << BlockOwner::kSlotBits;
  static constexpr uint64_t kMostBlocks = 0x7fff;  // that one slot serves, one after the other
  static constexpr uint64_t kAddressLimit = uint64_t{1} << 48;
  static constexpr size_t kNone = ~size_t{0};
  static constexpr uint64_t kResting = uint64_t{1} << 63;  // of a slot's word: without it the block moves
  // Slots that become writable together, whole OS pages, and of their bits as well.
  static constexpr size_t kStep = size_t{1} << 17;

  // The bytes of a table of `slots` (1 … kMostSlots) in memory of the caller's.
  static size_t bytes_for(size_t slots);

  using Slot = MoveEpochs<>::Slot;

  explicit HandleTable(uint16_t salt) : salt_(salt & kMostBlocks) {}
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // Opens in memory of bytes_for(slots), aligned to 8, whatever is in it.
  void open(void* memory, size_t slots);
  // Opens in addresses of its own, of which it makes writable what it uses. False if the OS refuses. If addresses are
  // few the table has fewer slots.
  bool open(size_t slots);
  // Opens in `slots` of a range, from number `base` on: memory that reads as zero until the table makes it writable, in
  // steps of kStep. The range stays the caller's.
  bool open(Slot* range, size_t base, size_t slots);
  void close();

  // Before any use by several threads.
  void share() { growth_lock_.share(); }

  // A handle for a block at `address`; 0 if no slot or no memory is left, or if the table has to grow first.
  HandleWord add(const void* address);
  // Called without a lock: makes more slots writable if the last add() wanted them. True if there are more than
  // `limit`.
  bool grow(size_t limit);
  // Frees the slot. Returns a leaf that is to go back to the OS, by purge() without a lock and then put_back(), or
  // kNone.
  size_t remove(size_t slot);
  bool purge(size_t leaf);
  void put_back(size_t leaf, bool is_gone);

  // The slot's number in the range of slots.
  static size_t slot_of(HandleWord handle) { return handle & (kAddressLimit - 1); }
  // The slot's number in the table, if the handle is one of the table's.
  size_t slot(HandleWord handle) const { return slot_of(handle) - base_; }
  // What one read of a slot tells: the address of the handle's block, null if it names none; and whether it moves.
  struct Look {
    uint64_t word = 0;
    char* block = nullptr;
    bool is_moving() const { return (word & kResting) == 0; }
  };
  Look look(HandleWord handle) const {
    const size_t index = slot(handle);
    if (index >= slot_limit()) return {};
    const uint64_t word = MoveEpochs<>::look(slots_[index]);
    return {word, block_of(handle, word)};
  }
  char* find(HandleWord handle) const { return look(handle).block; }
  // Null if the slot is free, or 0.
  char* address(size_t slot) const { return block_at(slot, word(slot)); }
  // The handle of a slot in use.
  HandleWord handle(size_t slot) const { return (word(slot) & ~(kAddressLimit - 1)) | kResting | (base_ + slot); }

  // The first is for a heap of one thread. The second, for several, returns the epoch of the move (move_epochs.h);
  // arrive() is false then if a reader has called the move off.
  void begin_move(size_t slot) { set_word(slot, word(slot) & ~kResting); }
  uint64_t begin_move(size_t slot, MoveEpochs<>& epochs) { return epochs.begin(slots_[slot], kResting); }
  bool is_moving(size_t slot) const { return (word(slot) & kResting) == 0; }
  // Does nothing to a block at rest.
  void call_off(size_t slot) {
    uint64_t seen = 0;
    do seen = word(slot);
    while ((seen & kResting) == 0 && !MoveEpochs<>::call_off(slots_[slot], seen, kResting));
  }
  // False: the slot has changed since `look`.
  bool call_off(size_t slot, Look look) { return MoveEpochs<>::call_off(slots_[slot], look.word, kResting); }
  bool arrive(size_t slot, const void* address) {
    return MoveEpochs<>::arrive(slots_[slot], word(slot) & ~kResting, handle(slot) ^ address_of(address));
  }
  // Sets the block's address, and ends a move even if a reader has called it off.
  void set_address(size_t slot, const void* address) { set_word(slot, handle(slot) ^ address_of(address)); }

  size_t live() const { return live_; }
  uint64_t waits() const { return growth_lock_.waits(); }
  // Bytes of the table that are backed.
  size_t bytes() const;
  const Slot* slots() const { return slots_; }
  size_t slot_limit() const { return writable_.load(kAcquire); }  // rises

  // O(slots that have been in use).
  const char* check() const;

 private:
  static constexpr size_t kLevels = 5;
  static constexpr size_t kLeafSlots = kPageSize / sizeof(uint64_t);
  enum class State : uint16_t { kUnbacked, kBacked, kLeaving };
  struct Leaf {
    uint16_t used = 0;
    uint16_t first = 0;  // its slots that read 0 have served so many blocks, or fewer
    uint16_t last = 0;   // the highest number of a block that is gone
    State state = State::kUnbacked;
  };
  static_assert(sizeof(Leaf) == sizeof(uint64_t));
  static size_t words_at(size_t level, size_t slots) {
    return (slots + (size_t{64} << 6 * level) - 1) >> (6 * level + 6);
  }
  uint64_t word(size_t slot) const { return slots_[slot].load(kRelaxed); }
  void set_word(size_t slot, uint64_t word) { slots_[slot].store(word, kRelease); }
  char* block_at(size_t slot, uint64_t word) const {
    return word > kMostBlocks ? at<char>((word ^ (base_ + slot)) & (kAddressLimit - 1)) : nullptr;
  }
  // Null if the word does not belong to the block that the handle names.
  static char* block_of(HandleWord handle, uint64_t word) {
    const uint64_t address = (word | kResting) ^ handle;
    return word > kMostBlocks && address < kAddressLimit ? at<char>(address) : nullptr;
  }
  bool is_used(size_t slot) const { return word(slot) > kMostBlocks; }
  // Places the arrays in memory, for the capacity that is set; slots that there are already stay.
  void lay_out(char* memory);
  // Reserves addresses, makes the upper levels and the first step of slots writable. False if the OS refuses:
  // reservation_ tells which of the two.
  bool open_reserved(size_t bytes);
  bool make_writable(size_t slots);
  SNUG_COLD bool may_grow(size_t limit);
  void close_bits_beyond(size_t slots);
  bool are_bits_beyond_closed() const;
  void close_slot_zero();
  void begin_leaf(size_t leaf);
  SNUG_COLD size_t end_leaf(size_t leaf);
  bool withdraw(size_t leaf);
  const char* check_leaves() const;
  static size_t leaves_for(size_t slots) { return (slots + kLeafSlots - 1) / kLeafSlots; }
  static size_t first_word(size_t leaf) { return leaf * kLeafSlots / 64; }
  void make_free(size_t slot);
  void set_used(size_t slot);
  void set_free(size_t slot);
  size_t find_free() const;

  Slot* slots_ = nullptr;
  size_t base_ = 0;  // the number of its first slot in the range
  size_t capacity_ = 0;
  Atomic<size_t> writable_{0};  // slots
  Atomic<size_t> wanted_{0};    // slots that are to be writable
  OptionalLock growth_lock_;    // guards making more writable
  uint64_t* levels_[kLevels] = {};
  size_t lowest_word_ = 0;  // of level 0: below it no slot is free
  size_t live_ = 0;
  size_t retired_ = 0;
  size_t end_ = 0;  // no slot from here on has been in use
  Leaf* leaves_ = nullptr;
  size_t spare_leaf_ = kNone;  // empty, and backed
  size_t leaves_backed_ = 0;
  uint16_t salt_ = 0;
  char* reservation_ = nullptr;  // null over the caller's memory
  size_t reserved_ = 0;
};

}  // namespace snug
