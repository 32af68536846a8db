#include "compact/handle_table.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/in_place.h"
#include "os/memory.h"
#include "os/process.h"

namespace snug {
namespace {

constexpr uint64_t kAllUsed = ~uint64_t{0};

}  // namespace

size_t HandleTable::bytes_for(size_t slots) {
  size_t words = slots + leaves_for(slots);
  for (size_t level = 0; level < kLevels; ++level) words += words_at(level, slots);
  return words * sizeof(uint64_t);
}

// Lays out the leaves, the levels from the highest down, then the slots: what is written ahead of use comes first.
void HandleTable::lay_out(char* memory) {
  auto* word = reinterpret_cast<uint64_t*>(memory);
  leaves_ = reinterpret_cast<Leaf*>(word);
  word += leaves_for(capacity_);
  for (size_t level = kLevels; level-- > 1;) {
    levels_[level] = word;
    word += words_at(level, capacity_);
  }
  if (reservation_ != nullptr) word = at<uint64_t>(round_up(address_of(word), os::page_size()));
  levels_[0] = word;
  word += words_at(0, capacity_);
  if (reservation_ != nullptr) word = at<uint64_t>(round_up(address_of(word), os::page_size()));
  if (slots_ == nullptr) slots_ = reinterpret_cast<Slot*>(word);
}

void HandleTable::open(void* memory, size_t slots) {
  memset(memory, 0, bytes_for(slots));
  capacity_ = slots;
  lay_out(static_cast<char*>(memory));
  writable_.store(slots, kRelaxed);
  close_bits_beyond(slots);
  close_slot_zero();
}

// If addresses are few, takes fewer slots, since blocks need addresses as well.
bool HandleTable::open(size_t slots) {
  const size_t most = os::reservation_limit(os::address_space_limit());
  // Steps are whole, so that what becomes writable are whole OS pages.
  for (slots = round_up(slots, kStep);; slots = round_up(slots / 2, kStep)) {
    const bool is_least = slots == kStep;
    if (bytes_for(slots) > most && !is_least) continue;
    capacity_ = slots;
    if (open_reserved(bytes_for(slots))) return true;
    if (reservation_ != nullptr || is_least) break;
  }
  close();
  return false;
}

bool HandleTable::open(Slot* range, size_t base, size_t slots) {
  slots_ = range + base;
  base_ = base;
  capacity_ = round_up(slots, kStep);
  if (open_reserved(bytes_for(capacity_) - capacity_ * sizeof(Slot))) return true;
  close();
  return false;
}

bool HandleTable::open_reserved(size_t bytes) {
  reserved_ = round_up(bytes + 3 * os::page_size(), os::page_size());
  reservation_ = static_cast<char*>(os::reserve(nullptr, reserved_));
  if (reservation_ == nullptr) return false;
  lay_out(reservation_);
  if (!os::commit(reservation_, static_cast<size_t>(reinterpret_cast<char*>(levels_[0]) - reservation_)) ||
      !make_writable(kStep))
    return false;
  close_bits_beyond(capacity_);
  close_slot_zero();
  return true;
}

void HandleTable::close() {
  if (reservation_ != nullptr) os::release(reservation_, reserved_);
  const uint16_t salt = salt_;
  ::new (InPlace{this}) HandleTable(salt);
}

bool HandleTable::make_writable(size_t slots) {
  const size_t had = slot_limit();
  SNUG_ASSERT(slots <= capacity_, "steps divide the capacity, and beyond it the levels above promise no free slot");
  // A step of bits may begin inside an OS page that is writable already.
  const uintptr_t bits = round_down(address_of(levels_[0] + had / 64), os::page_size());
  if (!os::commit(at<void>(bits), address_of(levels_[0] + slots / 64) - bits) ||
      !os::commit(slots_ + had, (slots - had) * sizeof(uint64_t)))
    return false;
  writable_.store(slots, kRelease);
  return true;
}

// Sets the bits for which there is no slot, as if used. Level 0 has no such bit where it is made writable in steps.
void HandleTable::close_bits_beyond(size_t slots) {
  size_t children = slots;
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t words = words_at(level, slots);
    if (children % 64 != 0) levels_[level][words - 1] |= ~bit_run(0, static_cast<unsigned>(children % 64));
    children = words;
  }
}

bool HandleTable::are_bits_beyond_closed() const {
  size_t children = capacity_;
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t words = words_at(level, capacity_);
    const size_t last = children % 64;
    if (last != 0 && (levels_[level][words - 1] | bit_run(0, static_cast<unsigned>(last))) != kAllUsed) return false;
    children = words;
  }
  return true;
}

// Makes handle 0 name no block, for inline dereferences too, which do not test for it.
void HandleTable::close_slot_zero() {
  set_word(0, kResting | base_);
  set_used(0);
  begin_leaf(0);
}

void HandleTable::set_used(size_t slot) {
  for (size_t level = 0, index = slot; level < kLevels; ++level, index /= 64) {
    uint64_t& word = levels_[level][index / 64];
    word |= uint64_t{1} << index % 64;
    if (word != kAllUsed) return;
  }
}

void HandleTable::set_free(size_t slot) {
  for (size_t level = 0, index = slot; level < kLevels; ++level, index /= 64) {
    uint64_t& word = levels_[level][index / 64];
    const bool was_full = word == kAllUsed;
    word &= ~(uint64_t{1} << index % 64);
    if (!was_full) return;
  }
}

// The lowest free slot; kNone if there is none.
size_t HandleTable::find_free() const {
  size_t index = 0;
  for (size_t level = kLevels; level-- > 0;) {
    const uint64_t word = levels_[level][index];
    if (word == kAllUsed) return kNone;  // only at the highest level: a clear bit there promises a free slot below
    index = index * 64 + static_cast<size_t>(trailing_ones(word));
    // Slots that are not writable yet are all free.
    if (level == 1 && index * 64 >= slot_limit()) return index * 64;
  }
  return index;
}

HandleWord HandleTable::add(const void* address) {
  uint64_t* free_bits = levels_[0] + lowest_word_;
  if (lowest_word_ * 64 >= slot_limit() || *free_bits == kAllUsed) [[unlikely]] {
    const size_t limit = slot_limit();  // once: another thread may be raising it
    const size_t found = find_free();
    if (found == kNone || (found >= limit && !may_grow(limit))) return 0;
    lowest_word_ = found / 64;
    free_bits = levels_[0] + lowest_word_;
  }
  const size_t slot = lowest_word_ * 64 + static_cast<size_t>(trailing_ones(*free_bits));
  *free_bits |= *free_bits + 1;
  if (*free_bits == kAllUsed) [[unlikely]]
    set_used(slot);
  const size_t leaf = slot / kLeafSlots;
  if (leaves_[leaf].used++ == 0) [[unlikely]]
    begin_leaf(leaf);
  const uint64_t block = word(slot);
  const uint64_t generation = (block == 0 ? leaves_[leaf].first + 1u : block) ^ salt_;
  const HandleWord handle = kResting | generation << 48 | (base_ + slot);
  set_word(slot, handle ^ address_of(address));
  ++live_;
  end_ = max(end_, slot + 1);
  return handle;
}

// Called when no slot below `limit` is free. Grows the table; one that several threads use only notes the wish.
bool HandleTable::may_grow(size_t limit) {
  wanted_.store(limit + kStep, kRelaxed);
  return !growth_lock_.is_shared() && grow(limit);
}

bool HandleTable::grow(size_t limit) {
  const OptionalLockGuard guard(growth_lock_);
  const size_t wanted = wanted_.load(kRelaxed);
  if (wanted > slot_limit()) make_writable(wanted);
  return slot_limit() > limit;
}

size_t HandleTable::remove(size_t slot) {
  const uint64_t block = (word(slot) >> 48 & kMostBlocks) ^ salt_;
  --live_;
  const size_t leaf = slot / kLeafSlots;
  leaves_[leaf].last = max(leaves_[leaf].last, static_cast<uint16_t>(block));
  const bool is_last = --leaves_[leaf].used == 0;
  if (block == kMostBlocks) {
    set_word(slot, 0);
    ++retired_;
  } else {
    set_word(slot, block + 1);
    make_free(slot);
  }
  return is_last ? end_leaf(leaf) : kNone;
}

void HandleTable::make_free(size_t slot) {
  uint64_t& free_bits = levels_[0][slot / 64];
  lowest_word_ = min(lowest_word_, slot / 64);
  if (free_bits == kAllUsed) [[unlikely]]
    return set_free(slot);
  free_bits &= ~(uint64_t{1} << slot % 64);
}

void HandleTable::begin_leaf(size_t leaf) {
  leaves_[leaf].used = 1;
  if (leaf == spare_leaf_) spare_leaf_ = kNone;
  leaves_backed_ += leaves_[leaf].state == State::kUnbacked ? 1 : 0;
  leaves_[leaf].state = State::kBacked;
}

size_t HandleTable::end_leaf(size_t leaf) {
  if (spare_leaf_ == kNone) {
    spare_leaf_ = leaf;
    return kNone;
  }
  const size_t higher = max(leaf, spare_leaf_);
  spare_leaf_ = min(leaf, spare_leaf_);
  return withdraw(higher) ? higher : kNone;
}

// Takes the leaf's slots out of use until it is put back. False if their next numbers would soon retire them.
bool HandleTable::withdraw(size_t leaf) {
  Leaf& emptied = leaves_[leaf];
  if (reservation_ == nullptr || emptied.last > kMostBlocks / 2) return false;
  // Set before the purge, since the OS may purge a part before it refuses.
  emptied.first = emptied.last;
  emptied.state = State::kLeaving;
  for (size_t word = first_word(leaf); word != first_word(leaf + 1); ++word) {
    levels_[0][word] = kAllUsed;
    set_used(word * 64);
  }
  return true;
}

bool HandleTable::purge(size_t leaf) {
  // A longer OS page holds slots of other leaves.
  return os::page_size() <= kPageSize && os::purge(slots_ + leaf * kLeafSlots, kPageSize);
}

void HandleTable::put_back(size_t leaf, bool is_gone) {
  for (size_t word = first_word(leaf); word != first_word(leaf + 1); ++word) {
    set_free(word * 64);
    levels_[0][word] = 0;
  }
  lowest_word_ = min(lowest_word_, first_word(leaf));
  leaves_[leaf].state = is_gone ? State::kUnbacked : State::kBacked;
  leaves_backed_ -= is_gone ? 1 : 0;
}

size_t HandleTable::bytes() const {
  size_t bytes = min(leaves_backed_ * kPageSize, end_ * sizeof(uint64_t)) + leaves_for(end_) * sizeof(Leaf);
  for (size_t level = 0; level < kLevels; ++level) bytes += words_at(level, end_) * sizeof(uint64_t);
  return bytes;
}

const char* HandleTable::check_leaves() const {
  size_t backed = 0;
  for (size_t leaf = 0; leaf < leaves_for(max<size_t>(end_, 1)); ++leaf) {
    size_t used = leaf == 0 ? 1 : 0;  // slot 0, which is always in use
    for (size_t slot = max<size_t>(leaf * kLeafSlots, 1); slot < min((leaf + 1) * kLeafSlots, end_); ++slot)
      used += is_used(slot) ? 1 : 0;
    if (used != leaves_[leaf].used) return "handle table: the count of a leaf's slots in use is wrong";
    if (used != 0 && leaves_[leaf].state != State::kBacked) return "handle table: a leaf in use is not backed";
    if (leaves_[leaf].first > leaves_[leaf].last || leaves_[leaf].last > kMostBlocks)
      return "handle table: the numbers of a leaf's blocks are none";
    backed += leaves_[leaf].state != State::kUnbacked ? 1 : 0;
  }
  if (backed != leaves_backed_) return "handle table: the count of backed leaves is wrong";
  if (spare_leaf_ != kNone && (leaves_[spare_leaf_].used != 0 || leaves_[spare_leaf_].state != State::kBacked))
    return "handle table: the spare leaf is in use, or is not backed";
  return nullptr;
}

const char* HandleTable::check() const {
  if (slot_limit() > capacity_) return "handle table: more slots are writable than there are";
  size_t live = 0;
  size_t retired = 0;
  for (size_t slot = 1; slot < end_; ++slot) {
    const bool is_live = is_used(slot);
    const bool is_marked = tests_bit(levels_[0], slot);
    if (is_live && !is_marked) return "handle table: a slot in use counts as free";
    const bool is_leaving = leaves_[slot / kLeafSlots].state == State::kLeaving;
    if (is_leaving ? is_live || !is_marked : !is_live && is_marked && word(slot) != 0)
      return "handle table: a free slot counts as used, or one that is on its way to the OS as free";
    live += is_live ? 1 : 0;
    retired += !is_live && is_marked && !is_leaving ? 1 : 0;
  }
  if (live != live_ || retired != retired_) return "handle table: the count of live handles is wrong";
  for (size_t word = 0; word < lowest_word_; ++word)
    if (levels_[0][word] != kAllUsed) return "handle table: a slot is free below the lowest free one";
  for (size_t level = 1; level < kLevels; ++level) {
    const size_t children = words_at(level - 1, end_);
    for (size_t child = 0; child < children; ++child)
      if (tests_bit(levels_[level], child) != (levels_[level - 1][child] == kAllUsed))
        return "handle table: a bit above does not tell whether a word is full";
  }
  return are_bits_beyond_closed() ? check_leaves() : "handle table: a slot beyond the table counts as free";
}

}  // namespace snug
