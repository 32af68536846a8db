// BlockNote: what the checked mode knows of a block: its requested size and its origin. It is kept in the last word of
// the block, its trailer, mixed with the block's address and a secret of the process, so that neither a stray write nor
// a copy of another block's trailer is taken for a valid one.
//
//   block             size             most 128 bytes  usable - 8     usable
//     |==== the user's ===|~~~~~~ canary ~~~~~~|___________| trailer |
//
//   trailer of a live block   == (check << 47 | 1 << 46 | origin << 44 | size) ^ mask(block)
//   trailer of a freed block  == the same with its upper 18 bits inverted
//
// The canary ends at the end of a word, so that it is written and compared by words; a part of its first word may
// belong to the user's bytes.
//
// With check:stacks two more words stand before the trailer: thread and call stack of the block's allocation and of its
// free.
//
//   word    == (check << 46 | thread << 24 | number of the stack) ^ mask(block, which)
//
// The functions are thread-safe, O(size of the canary); a trailer changes by one atomic operation, so that of two frees
// of a block only one finds it live.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/fixed_array.h"

namespace snug {

// The function that a block is allocated by, which decides the function that must free it.
enum class BlockOrigin : uint8_t { kMalloc, kNew, kNewArray };

// The index of the first of `count` bytes, at least one, that is not `wanted`; `count` if all are. Compares the bytes
// with themselves shifted by one, by libc's memcmp, which is fast.
inline size_t first_other(const void* bytes, size_t count, unsigned char wanted) {
  const auto* byte = static_cast<const unsigned char*>(bytes);
  if (byte[0] == wanted && memcmp(byte, byte + 1, count - 1) == 0) [[likely]]
    return count;
  size_t i = 0;
  while (byte[i] == wanted) ++i;
  return i;
}

struct BlockNote {
  size_t size = 0;
  BlockOrigin origin = BlockOrigin::kMalloc;
  bool is_live = false;
  uint64_t trailer = 0;  // the word from which the rest was decoded
};

// The thread and the call stack (checked/stack_depot.h) of an allocation or a free. All 0: it has not happened.
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
  // How many bytes longer a block has to be than its requested size.
  size_t overhead() const { return overhead_; }

  // Writes canary and trailer of a live block that has `usable` bytes, a multiple of 8 and at least size + overhead();
  // `size` is at most kMostSize.
  void write(void* block, size_t usable, size_t size, BlockOrigin origin) const {
    const uint64_t mask = this->mask(block);
    const size_t end = canary_end(size, usable);
    if (size_t offset = canary_begin(size); offset != end) {
      const uint64_t users = users_bits(size);
      set_canary_word(block, offset, (canary_word(block, offset) & users) | (canary(mask) & ~users));
      while ((offset += kWord) != end) set_canary_word(block, offset, canary(mask));
    }
    const uint64_t payload = kLive | uint64_t{static_cast<uint8_t>(origin)} << kSizeBits | size;
    word(block, usable).store((check_of(payload, mask) << kPayloadBits | payload) ^ mask, kRelease);
  }

  // Reads the note. False if the trailer is not valid for this block: it was written over, or there never was one.
  SNUG_ALWAYS_INLINE bool read(const void* block, size_t usable, BlockNote* note) const {
    note->trailer = trailer(block, usable);
    return decode(block, note) && note->size + overhead_ <= usable;
  }
  // Decodes the rest of a note from its trailer; false if that is not valid for this block.
  SNUG_ALWAYS_INLINE bool decode(const void* block, BlockNote* note) const {
    const uint64_t mask = this->mask(block);
    const uint64_t plain = note->trailer ^ mask;
    note->is_live = (plain & kLive) != 0;
    const uint64_t live = note->is_live ? plain : plain ^ kTurned;
    note->size = live & kSize;
    note->origin = static_cast<BlockOrigin>(live >> kSizeBits & 3);
    return live >> kPayloadBits == check_of(live & kPayload, mask);
  }
  // True if the trailer reads as zero: it was never written, or its memory was purged since.
  bool is_blank(const void* block, size_t usable) const { return trailer(block, usable) == 0; }

  // Writes one of the block's events; both are written before another thread may read them. Only if keeps_events().
  void write_event(void* block, size_t usable, Which which, const BlockEvent& event) const {
    const uint64_t mask = event_mask(block, which);
    const uint64_t payload = uint64_t{event.thread} << kStackBits | event.stack;
    event_word(block, usable, which).store((check_of(payload, mask) << kEventBits | payload) ^ mask, kRelaxed);
  }
  // False if it was written over.
  bool read_event(const void* block, size_t usable, Which which, BlockEvent* event) const {
    const uint64_t mask = event_mask(block, which);
    const uint64_t plain = event_word(const_cast<void*>(block), usable, which).load(kRelaxed) ^ mask;
    const uint64_t payload = plain & ((uint64_t{1} << kEventBits) - 1);
    *event = {static_cast<uint32_t>(payload >> kStackBits),
              static_cast<uint32_t>(payload & ((uint64_t{1} << kStackBits) - 1))};
    return plain >> kEventBits == check_of(payload, mask);
  }

  // The offset of the first byte of the canary that has changed, or of an event's word that has; `usable` if none has.
  SNUG_ALWAYS_INLINE size_t damage(const void* block, size_t usable, size_t size) const {
    const size_t end = canary_end(size, usable);
    if (size_t offset = canary_begin(size); offset != end) {
      const uint64_t wanted = canary(mask(block));
      uint64_t other = (canary_word(block, offset) ^ wanted) & ~users_bits(size);
      while (other == 0 && (offset += kWord) != end) other = canary_word(block, offset) ^ wanted;
      if (other != 0) [[unlikely]]
        return offset + static_cast<size_t>(trailing_zeros(other)) / 8;
    }
    return damage_of_events(block, usable);
  }
  // The same for the events' words only.
  size_t damage_of_events(const void* block, size_t usable) const {
    return keeps_events() ? first_damaged_event(block, usable) : usable;
  }

  // Marks the block as free, after its note was read. False if another thread has done so meanwhile.
  bool end(void* block, size_t usable, const BlockNote& note) const {
    uint64_t live = note.trailer;
    return word(block, usable).compare_exchange_strong(live, trailer_of_freed(note), kAcqRel);
  }
  // The block's trailer after end().
  static uint64_t trailer_of_freed(const BlockNote& note) { return note.trailer ^ kTurned; }
  // True if the block's trailer is the expected one.
  bool has_trailer(const void* block, size_t usable, uint64_t expected) const {
    return trailer(block, usable) == expected;
  }

  // The end of the canary, a multiple of 8 between the block's size and its notes; the canary may be empty.
  size_t canary_end(size_t size, size_t usable) const {
    return min(usable - overhead_, round_up(size, kWord) + kMostCanary);
  }

 private:
  static constexpr unsigned kSizeBits = 44;
  static constexpr unsigned kPayloadBits = 47;
  static constexpr uint64_t kSize = (uint64_t{1} << kSizeBits) - 1;
  static constexpr uint64_t kLive = uint64_t{1} << 46;
  static constexpr uint64_t kPayload = (uint64_t{1} << kPayloadBits) - 1;
  static constexpr uint64_t kTurned = ~(kLive - 1);  // the bits that end() inverts
  static constexpr unsigned kStackBits = 24;
  static constexpr unsigned kEventBits = 46;
  static constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  static constexpr size_t kWord = sizeof(uint64_t);
  static constexpr size_t kMostCanary = 128;  // and up to a word more: overruns mostly begin right at the end

  static AtomicRef<uint64_t> word(void* block, size_t usable) {
    return AtomicRef<uint64_t>(*at<uint64_t>(address_of(block) + usable - kTrailer));
  }
  static uint64_t trailer(const void* block, size_t usable) {
    return word(const_cast<void*>(block), usable).load(kAcquire);
  }
  static AtomicRef<uint64_t> event_word(void* block, size_t usable, Which which) {
    return word(block, usable - static_cast<size_t>(which) * kTrailer);
  }
  uint64_t event_mask(const void* block, Which which) const {
    return mask(block) * (2 * static_cast<uint64_t>(which) + 1);
  }
  SNUG_COLD size_t first_damaged_event(const void* block, size_t usable) const {
    BlockEvent event;
    for (const Which which : FixedArray{Which::kAllocation, Which::kFree})
      if (!read_event(block, usable, which, &event)) return usable - (static_cast<size_t>(which) + 1) * kTrailer;
    return usable;
  }

  // The offset of the canary's first word: that in which the user's bytes end, or the next one if they end with a word.
  static size_t canary_begin(size_t size) { return round_down(size, kWord); }
  // A mask of that word's bits that belong to the user's bytes.
  static uint64_t users_bits(size_t size) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return (uint64_t{1} << size % kWord * 8) - 1;
  }
  static uint64_t canary_word(const void* block, size_t offset) {
    uint64_t word;
    memcpy(&word, static_cast<const char*>(block) + offset, kWord);
    return word;
  }
  static void set_canary_word(void* block, size_t offset, uint64_t word) {
    memcpy(static_cast<char*>(block) + offset, &word, kWord);
  }
  // Bytes that an overrun hardly ever writes: not 0, no letter, -1 or small number, nor any byte of UTF-8. From 0xf5 to
  // 0xfc.
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
