// HandleTable: where the blocks lie that handles name. A handle is a slot of the table and the generation of the block
// that the slot serves, so that a handle which has outlived its block names nothing.
//
//   handle   1 | generation: 15 | 0: 16 | slot: 32
//            the generation: the how manieth block of the slot it is (1 … 32767), with the heap's salt (exclusive or),
//            so that handles of other heaps differ in it
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
// So the end of the table empties, and the OS gets it back: a leaf (16 KiB of slots) that empties waits for the next
// one, and the higher of both goes, so that a table which grows and shrinks by one block asks the OS for nothing. A
// leaf keeps the highest number that a block had in it, with which its slots go on when they are wanted again.
//
//   live_ == slots below end_ in use;   above none is.   Of each leaf, used == its slots in use, slot 0 among them
//   leaves_backed_ == leaves that are not unbacked: those in use, empty ones that have not gone, and those that leave
//
// The table lies in addresses that are reserved once, and are made writable as it grows: a slot never moves. One thread
// at a time changes it, but for moves, which the lock of the block's class guards; find() is for any thread, and its
// look-ups are as the meeting of readers and movers wants them (meeting.h). What asks the OS needs no turn: a leaf that
// is on its way back is nobody's meanwhile, and if several threads have the table, one that is too short is told of,
// and grows in grow(). O(1).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/compiler.h"
#include "compact/meeting.h"
#include "compact/page.h"
#include "compact/turn.h"

namespace snug {

using HandleWord = uint64_t;

class HandleTable {
 public:
  static constexpr size_t kMostSlots = size_t{1} << BlockOwner::kSlotBits;
  static constexpr uint64_t kMostBlocks = 0x7fff;  // of a slot, in its time
  static constexpr uint64_t kAddressLimit = uint64_t{1} << 48;
  static constexpr size_t kNone = ~size_t{0};
  static constexpr uint64_t kResting = uint64_t{1} << 63;  // of a slot's word: without it the block moves
  // Slots that become writable together, whole OS pages, and of their bits as well.
  static constexpr size_t kStep = size_t{1} << 17;

  // What a table of `slots` (1 … kMostSlots) takes where its memory is the caller's.
  static size_t bytes_for(size_t slots);

  using Slot = Meeting<>::Slot;

  explicit HandleTable(uint16_t salt) : salt_(salt & kMostBlocks) {}
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // Over memory of bytes_for(slots), aligned to 8, whatever is in it.
  void open(void* memory, size_t slots);
  // Over addresses of its own, of which it makes writable what it uses. False if the OS refuses. `slots` may become
  // fewer where addresses are few.
  bool open(size_t slots);
  // Over `slots` of a range, from the one of number `base` on: memory that reads as zero until the table makes it
  // writable, in steps of kStep. The range stays the caller's.
  bool open(Slot* range, size_t base, size_t slots);
  void close();

  // Before any use by several threads.
  void share() { growth_turn_.share(); }

  // A handle of a block at `address`; 0 if no slot is left, or no memory, or if the table has to grow first.
  HandleWord add(const void* address);
  // In no turn: makes more slots writable if the last add() wanted them. True if there are more than `limit`.
  bool grow(size_t limit);
  // The slot's block is gone. Returns a leaf to be given back to the OS, by purge() in no turn and then put_back(), or
  // kNone.
  size_t remove(size_t slot);
  bool purge(size_t leaf);
  void put_back(size_t leaf, bool is_gone);

  // In the range of slots.
  static size_t slot_of(HandleWord handle) { return handle & (kAddressLimit - 1); }
  // In the table, if it is one of the table's.
  size_t slot(HandleWord handle) const { return slot_of(handle) - base_; }
  // A look at a slot: where the handle's block lies, null if it names none; and whether it is on its way.
  struct Look {
    uint64_t word = 0;
    char* block = nullptr;
    bool is_moving() const { return (word & kResting) == 0; }
  };
  Look look(HandleWord handle) const {
    const size_t index = slot(handle);
    if (index >= slot_limit()) return {};
    const uint64_t word = Meeting<>::look(slots_[index]);
    return {word, block_of(handle, word)};
  }
  char* find(HandleWord handle) const { return look(handle).block; }
  // Null if the slot is free, or 0.
  char* address(size_t slot) const { return block_at(slot, word(slot)); }
  // Of a slot in use.
  HandleWord handle(size_t slot) const { return (word(slot) & ~(kAddressLimit - 1)) | kResting | (base_ + slot); }

  // Where one thread has the heap. Several meet by `meeting`; the epoch is returned, and arrive() is false if a reader
  // has called the move off.
  void begin_move(size_t slot) { set_word(slot, word(slot) & ~kResting); }
  uint64_t begin_move(size_t slot, Meeting<>& meeting) { return meeting.begin(slots_[slot], kResting); }
  bool is_moving(size_t slot) const { return (word(slot) & kResting) == 0; }
  // Does nothing to a block at rest.
  void call_off(size_t slot) {
    uint64_t seen = 0;
    do seen = word(slot);
    while ((seen & kResting) == 0 && !Meeting<>::call_off(slots_[slot], seen, kResting));
  }
  // False: the slot has changed since the look.
  bool call_off(size_t slot, Look look) { return Meeting<>::call_off(slots_[slot], look.word, kResting); }
  bool arrive(size_t slot, const void* address) {
    return Meeting<>::arrive(slots_[slot], word(slot) & ~kResting, handle(slot) ^ address_of(address));
  }
  // Ends a move as well, whoever reads meanwhile.
  void set_address(size_t slot, const void* address) { set_word(slot, handle(slot) ^ address_of(address)); }

  size_t live() const { return live_; }
  uint64_t waits() const { return growth_turn_.waits(); }
  // Of memory, as far as it is backed.
  size_t bytes() const;
  const Slot* slots() const { return slots_; }
  size_t slot_limit() const { return writable_.load(std::memory_order_acquire); }  // rises

  // O(slots that have been in use).
  const char* check() const;

 private:
  static constexpr size_t kLevels = 5;
  static constexpr size_t kLeafSlots = kPageSize / sizeof(uint64_t);
  enum class State : uint16_t { kUnbacked, kBacked, kLeaving };
  struct Leaf {
    uint16_t used = 0;
    uint16_t first = 0;  // its slots that are 0 have served so many, or less
    uint16_t last = 0;   // the highest number of a block that is gone
    State state = State::kUnbacked;
  };
  static_assert(sizeof(Leaf) == sizeof(uint64_t));
  static size_t words_at(size_t level, size_t slots) {
    return (slots + (size_t{64} << 6 * level) - 1) >> (6 * level + 6);
  }
  uint64_t word(size_t slot) const { return slots_[slot].load(std::memory_order_relaxed); }
  void set_word(size_t slot, uint64_t word) { slots_[slot].store(word, std::memory_order_release); }
  char* block_at(size_t slot, uint64_t word) const {
    return word > kMostBlocks ? at<char>((word ^ (base_ + slot)) & (kAddressLimit - 1)) : nullptr;
  }
  // Null if the word is not of the block that the handle names.
  static char* block_of(HandleWord handle, uint64_t word) {
    const uint64_t address = (word | kResting) ^ handle;
    return word > kMostBlocks && address < kAddressLimit ? at<char>(address) : nullptr;
  }
  bool is_used(size_t slot) const { return word(slot) > kMostBlocks; }
  void lay_out(char* memory);
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
  std::atomic<size_t> writable_{0};  // slots
  std::atomic<size_t> wanted_{0};    // the same, of those that did not suffice
  Turn growth_turn_;                 // to make more writable
  uint64_t* levels_[kLevels] = {};
  size_t lowest_word_ = 0;  // of bits: below it no slot is free
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
