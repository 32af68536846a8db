// BlockNote: what the checked mode knows of a block: the size it was asked for with, and by whom. It stands in the last
// word of the block, its trailer, mixed with the block's address and a secret of the process, so that neither a stray
// write nor a copy of another block's trailer passes for one.
//
//   block             size             most 128 bytes  usable - 8     usable
//     |==== the user's ===|~~~~~~ canary ~~~~~~|___________| trailer |
//
//   trailer of a live block   == (check << 47 | 1 << 46 | origin << 44 | size) ^ mask(block)
//   trailer of a freed block  == the same with its upper 18 bits turned over
//
// The canary ends with a word, so that it is written and looked at by words; the first of them may be the user's in
// part.
//
// Where stacks are kept (check:stacks) two more words stand before the trailer: who has allocated the block, and who
// has freed it.
//
//   word    == (check << 46 | thread << 24 | number of the stack) ^ mask(block, which)
//
// The functions are thread-safe, O(size of the canary); a trailer changes by one atomic operation, so that of two
// frees of a block one alone finds it live.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "base/bits.h"
#include "base/compiler.h"

namespace snug {

// By whom a block is allocated, and so by whom it is to be freed.
enum class BlockOrigin : uint8_t { kMalloc, kNew, kNewArray };

// The index of the first of so many bytes, at least one, that is not `wanted`, or their number. They are compared with
// each other, one place on, by the fastest that libc has.
inline size_t first_other(const void* bytes, size_t count, unsigned char wanted) {
  const auto* byte = static_cast<const unsigned char*>(bytes);
  if (byte[0] == wanted && std::memcmp(byte, byte + 1, count - 1) == 0) [[likely]]
    return count;
  size_t i = 0;
  while (byte[i] == wanted) ++i;
  return i;
}

struct BlockNote {
  size_t size = 0;
  BlockOrigin origin = BlockOrigin::kMalloc;
  bool is_live = false;
  uint64_t trailer = 0;  // the word that says so
};

// Of a thread, and of where it was (checked/stack_depot.h). All 0: of nobody.
struct BlockEvent {
  uint32_t thread = 0;  // below 2^22, as the kernel has it
  uint32_t stack = 0;   // below 2^24
};

class BlockNotes {
 public:
  static constexpr size_t kTrailer = sizeof(uint64_t);
  static constexpr size_t kMostSize = size_t{1} << 43;
  enum class Which : uint8_t { kAllocation = 2, kFree = 1 };  // the word's distance from the trailer, in words

  void open(uint64_t secret, bool keeps_events = false) {
    secret_ = secret | 1;
    overhead_ = keeps_events ? 3 * kTrailer : kTrailer;
  }
  bool keeps_events() const { return overhead_ != kTrailer; }
  // What a block has to be longer for.
  size_t overhead() const { return overhead_; }

  // Writes canary and trailer of a live block that has `usable` bytes, a multiple of 8 and at least size + overhead().
  void write(void* block, size_t usable, size_t size, BlockOrigin origin) const {
    const uint64_t mask = this->mask(block);
    const size_t end = canary_end(size, usable);
    if (size_t offset = canary_begin(size); offset != end) {
      const uint64_t users = users_bits(size);
      set_canary_word(block, offset, (canary_word(block, offset) & users) | (canary(mask) & ~users));
      while ((offset += kWord) != end) set_canary_word(block, offset, canary(mask));
    }
    const uint64_t payload = kLive | uint64_t{static_cast<uint8_t>(origin)} << kSizeBits | size;
    word(block, usable).store((check_of(payload, mask) << kPayloadBits | payload) ^ mask, std::memory_order_release);
  }

  // False if the trailer is none of this block's: it was written over, or there never was one.
  SNUG_ALWAYS_INLINE bool read(const void* block, size_t usable, BlockNote* note) const {
    note->trailer = trailer(block, usable);
    return decode(block, note) && note->size + overhead_ <= usable;
  }
  // Tells the rest of a note by its trailer; false if that is none of this block's.
  SNUG_ALWAYS_INLINE bool decode(const void* block, BlockNote* note) const {
    const uint64_t mask = this->mask(block);
    const uint64_t plain = note->trailer ^ mask;
    note->is_live = (plain & kLive) != 0;
    const uint64_t live = note->is_live ? plain : plain ^ kTurned;
    note->size = live & kSize;
    note->origin = static_cast<BlockOrigin>(live >> kSizeBits & 3);
    return live >> kPayloadBits == check_of(live & kPayload, mask);
  }
  // Nothing has ever been written there, or its memory has gone back since.
  bool is_blank(const void* block, size_t usable) const { return trailer(block, usable) == 0; }

  // The block keeps events, and both are written before anybody else may look at it.
  void write_event(void* block, size_t usable, Which which, const BlockEvent& event) const {
    const uint64_t mask = event_mask(block, which);
    const uint64_t payload = uint64_t{event.thread} << kStackBits | event.stack;
    event_word(block, usable, which)
        .store((check_of(payload, mask) << kEventBits | payload) ^ mask, std::memory_order_relaxed);
  }
  // False if it was written over.
  bool read_event(const void* block, size_t usable, Which which, BlockEvent* event) const {
    const uint64_t mask = event_mask(block, which);
    const uint64_t plain = event_word(const_cast<void*>(block), usable, which).load(std::memory_order_relaxed) ^ mask;
    const uint64_t payload = plain & ((uint64_t{1} << kEventBits) - 1);
    *event = {static_cast<uint32_t>(payload >> kStackBits),
              static_cast<uint32_t>(payload & ((uint64_t{1} << kStackBits) - 1))};
    return plain >> kEventBits == check_of(payload, mask);
  }

  // The offset of the first byte of the canary that is not as it was written, or of an event's word that is not, or
  // `usable` if all are.
  SNUG_ALWAYS_INLINE size_t damage(const void* block, size_t usable, size_t size) const {
    const size_t end = canary_end(size, usable);
    if (size_t offset = canary_begin(size); offset != end) {
      const uint64_t wanted = canary(mask(block));
      uint64_t other = (canary_word(block, offset) ^ wanted) & ~users_bits(size);
      while (other == 0 && (offset += kWord) != end) other = canary_word(block, offset) ^ wanted;
      if (other != 0) [[unlikely]]
        return offset + static_cast<size_t>(std::countr_zero(other)) / 8;
    }
    return damage_of_events(block, usable);
  }
  // The same of the events' words alone.
  size_t damage_of_events(const void* block, size_t usable) const {
    return keeps_events() ? first_damaged_event(block, usable) : usable;
  }

  // Marks the block, whose note was read, as free. False if another thread has.
  bool end(void* block, size_t usable, const BlockNote& note) const {
    uint64_t live = note.trailer;
    return word(block, usable).compare_exchange_strong(live, trailer_of_freed(note), std::memory_order_acq_rel);
  }
  // What its trailer is then.
  static uint64_t trailer_of_freed(const BlockNote& note) { return note.trailer ^ kTurned; }
  // True if it still is.
  bool has_trailer(const void* block, size_t usable, uint64_t expected) const {
    return trailer(block, usable) == expected;
  }

  // Where the canary ends, which may be where it begins: between the block's size and its notes, a multiple of 8.
  size_t canary_end(size_t size, size_t usable) const {
    return std::min(usable - overhead_, round_up(size, kWord) + kMostCanary);
  }

 private:
  static constexpr unsigned kSizeBits = 44;
  static constexpr unsigned kPayloadBits = 47;
  static constexpr uint64_t kSize = (uint64_t{1} << kSizeBits) - 1;
  static constexpr uint64_t kLive = uint64_t{1} << 46;
  static constexpr uint64_t kPayload = (uint64_t{1} << kPayloadBits) - 1;
  static constexpr uint64_t kTurned = ~(kLive - 1);  // by the end of a block
  static constexpr unsigned kStackBits = 24;
  static constexpr unsigned kEventBits = 46;
  static constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  static constexpr size_t kWord = sizeof(uint64_t);
  static constexpr size_t kMostCanary = 128;  // and up to a word; beyond, a write is no write just beyond the end

  static std::atomic_ref<uint64_t> word(void* block, size_t usable) {
    return std::atomic_ref<uint64_t>(*at<uint64_t>(address_of(block) + usable - kTrailer));
  }
  static uint64_t trailer(const void* block, size_t usable) {
    return word(const_cast<void*>(block), usable).load(std::memory_order_acquire);
  }
  static std::atomic_ref<uint64_t> event_word(void* block, size_t usable, Which which) {
    return word(block, usable - static_cast<size_t>(which) * kTrailer);
  }
  uint64_t event_mask(const void* block, Which which) const {
    return mask(block) * (2 * static_cast<uint64_t>(which) + 1);
  }
  SNUG_COLD size_t first_damaged_event(const void* block, size_t usable) const {
    BlockEvent event;
    for (const Which which : {Which::kAllocation, Which::kFree})
      if (!read_event(block, usable, which, &event)) return usable - (static_cast<size_t>(which) + 1) * kTrailer;
    return usable;
  }

  // The canary's first word is that in which the size ends, or the one behind it, if it ends with a word.
  static size_t canary_begin(size_t size) { return round_down(size, kWord); }
  // Of that word, those of the user's bytes.
  static uint64_t users_bits(size_t size) {
    static_assert(std::endian::native == std::endian::little);
    return (uint64_t{1} << size % kWord * 8) - 1;
  }
  static uint64_t canary_word(const void* block, size_t offset) {
    uint64_t word;
    std::memcpy(&word, static_cast<const char*>(block) + offset, kWord);
    return word;
  }
  static void set_canary_word(void* block, size_t offset, uint64_t word) {
    std::memcpy(static_cast<char*>(block) + offset, &word, kWord);
  }
  // Bytes that are written beyond an end only by chance: not 0, no letter, -1 or small number, nor any byte of UTF-8.
  // From 0xf5 to 0xfc.
  static uint64_t canary(uint64_t mask) { return 0xf5f5f5f5f5f5f5f5 + (mask & 0x0707070707070707); }

  uint64_t mask(const void* block) const {
    const uint64_t mixed = (address_of(block) ^ secret_) * kMultiplier;
    return mixed ^ mixed >> 32;
  }
  static uint64_t check_of(uint64_t payload, uint64_t mask) {
    const uint64_t mixed = (payload ^ mask) * kMultiplier;
    return (mixed ^ mixed >> 29) * kMultiplier >> kPayloadBits;
  }

  uint64_t secret_ = 1;
  size_t overhead_ = kTrailer;
};

}  // namespace snug
