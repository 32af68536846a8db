// Slab: a span cut into equal blocks of one size class, with its record out of band.
//
//   struct Slab            the block memory, at `start`
//     free bitmap   ──►    [block][block][block] … [block][____ never used ____]
//                           slot 0   1      2           carved                capacity
//
//   record    [ Slab ][ free: a bit a block ]  (next cache line)  [ RemoteFrees ][ bits ]
//
//   free_count == bits that are set in `free`, none of them at or above `carved`, or in a word below `first_word`
//   carved <= capacity;   full == nothing carved is free, and nothing is left to carve; in the shared heap, where
//   blocks are taken by whole cache lines, single free blocks may be left
//
// Carved blocks that are not free are used: live, in thread caches, or remote frees that no thread has taken yet. There
// are as many words of bits as the blocks of a slab need; slab/slab_records.h makes the records. Blocks hold no links
// and no marks: a free block's memory is neither read nor written. The caller of any function holds the heap's lock;
// other threads touch of a slab only its RemoteFrees, in cache lines of its own.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/list.h"
#include "base/std_atomics.h"
#include "os/memory.h"
#include "size/class_table.h"
#include "slab/remote_frees.h"
#include "span/span.h"

namespace snug {

using SlabRemoteFrees = RemoteFrees<StdAtomics>;

struct Slab {
  ListLink<Slab> in_bin;  // not full: its heap's slabs of the class that have blocks to give
  char* start = nullptr;
  Span* span = nullptr;
  uint32_t block_size = 0;
  uint16_t capacity = 0;
  uint16_t carved = 0;
  uint16_t free_count = 0;
  uint16_t owner = 0;  // heap id
  uint8_t size_class = 0;
  uint8_t first_word = 0;  // no word of `free` below this one has a bit
  bool full = false;       // has no block to give, and is in no list
  bool purged = false;     // no block has come back since its holes were purged

  uint64_t* free_bits() { return reinterpret_cast<uint64_t*>(this + 1); }
  const uint64_t* free_bits() const { return reinterpret_cast<const uint64_t*>(this + 1); }

  // Bytes of a record with so many words of bits, and where its second part begins.
  static constexpr size_t remote_offset(size_t words) {
    return round_up(sizeof(Slab) + words * sizeof(uint64_t), kCacheLine);
  }
  static constexpr size_t record_bytes(size_t words) {
    return round_up(remote_offset(words) + sizeof(SlabRemoteFrees) + words * sizeof(uint64_t), kCacheLine);
  }
  // Does not read the record itself: the heap's threads write to its cache lines.
  SlabRemoteFrees& remote(const SizeClass& sizes) {
    return *reinterpret_cast<SlabRemoteFrees*>(reinterpret_cast<char*>(this) + remote_offset(sizes.bitmap_words()));
  }
  static Slab& of(const SlabRemoteFrees& remote) {
    return *at<Slab>(address_of(&remote) - remote.bytes_behind_record());
  }

  size_t used() const { return carved - free_count; }
  bool has_blocks() const { return free_count != 0 || carved != capacity; }
  char* block(size_t slot) const { return start + slot * block_size; }
  // True if one of its blocks begins there, handed out or not.
  bool has_block_at(const SizeClass& sizes, const void* address) const {
    const size_t offset = address_of(address) - address_of(start);
    const size_t slot = sizes.slot_of(offset);
    return slot * sizes.block_size == offset && slot < capacity;
  }
  // True if the block that begins there is free, or was never handed out.
  bool is_free_at(const SizeClass& sizes, const void* address) const {
    const size_t slot = sizes.slot_of(address_of(address) - address_of(start));
    return slot >= carved || tests_bit(free_bits(), slot);
  }
  // Pages from the start that may have been written.
  PageCount touched_pages() const {
    return {static_cast<uint32_t>((size_t{carved} * block_size + kPageSize - 1) / kPageSize)};
  }

  // Writes up to `want` recycled blocks in address order to end[-1], end[-2] …; returns how many. The blocks were used
  // before and are cold by now: they are fetched for writing on the way, since their user is about to write them.
  size_t take_recycled(void** end, size_t want) {
    void** next = end;
    void** const last = end - (want < free_count ? want : free_count);
    while (next != last) {
      uint64_t word = free_bits()[first_word];
      if (word == 0) {
        ++first_word;
        continue;
      }
      char* base = block(size_t{first_word} * 64);
      do {
        // Neighbours are taken together: most slabs come back in rows.
        const auto bit = static_cast<unsigned>(trailing_zeros(word));
        auto run = static_cast<unsigned>(trailing_ones(word >> bit));
        if (run > next - last) run = static_cast<unsigned>(next - last);
        word &= ~bit_run(bit, run);
        char* address = base + bit * block_size;
        for (void** const stop = next - run; next != stop; address += block_size) {
          prefetch_for_write(address);
          *--next = address;
        }
      } while (word != 0 && next != last);
      free_bits()[first_word] = word;
    }
    free_count = static_cast<uint16_t>(free_count - (end - last));
    return static_cast<size_t>(end - last);
  }

  // The same of blocks that were never used.
  size_t carve(void** end, size_t want) {
    const size_t left = capacity - carved;
    const size_t count = want < left ? want : left;
    char* address = block(carved);
    for (size_t i = 0; i < count; ++i, address += block_size) *--end = address;
    carved = static_cast<uint16_t>(carved + count);
    return count;
  }

  // Recycled blocks, or if there are none, some that were never used. `is_fresh` becomes true if the OS may have to
  // back those by a fault an OS page, so that no more of them come at once than the caller is likely to use: unless
  // every page of the slab was dirty, or belongs to a huge page that one fault backs.
  size_t draw(void** end, size_t want, const SizeClass& sizes, bool* is_fresh) {
    if (const size_t recycled = take_recycled(end, want); recycled != 0) return recycled;
    *is_fresh = !span->backed;
    return carve(end, *is_fresh && sizes.carve_max < want ? sizes.carve_max : want);
  }

  // Writes `group` neighbours (1, 2 or 4, from a slot that is a multiple of it) to end[-1], end[-2] …: a thread that
  // gets whole cache lines shares none with another. False if there are none.
  bool take_group(void** end, size_t group) {
    size_t slot = find_group(group);
    if (slot == kNoSlot) {
      if (capacity - carved < static_cast<int>(group)) return false;
      slot = carved;
      carved = static_cast<uint16_t>(carved + group);
    } else {
      take_row(slot, group);
    }
    for (size_t i = 0; i < group; ++i) *--end = block(slot + i);
    return true;
  }

  // Takes the `count` free blocks from `slot` on.
  void take_row(size_t slot, size_t count) {
    free_count = static_cast<uint16_t>(free_count - count);
    for_each_word(slot, count, [this](size_t word, uint64_t mask) { free_bits()[word] &= ~mask; });
  }

  bool has_group(size_t group) const {
    return capacity - carved >= static_cast<int>(group) || find_group(group) != kNoSlot;
  }

  // Takes back one carved block; false if it is free already.
  bool put_back_one(size_t slot) {
    const size_t word = slot / 64;
    const uint64_t bit = uint64_t{1} << (slot % 64);
    if ((free_bits()[word] & bit) != 0) return false;
    free_bits()[word] |= bit;
    count_back(1, word);
    return true;
  }

  // Takes back the `count` blocks from `slot` on, all of them carved. Returns how many; fewer if one behind those, in
  // the same word, is free already.
  size_t put_back(size_t slot, size_t count) {
    const size_t lowest = slot / 64;
    size_t done = 0;
    while (done != count) {
      const size_t bit = slot % 64;
      const size_t run = count - done < 64 - bit ? count - done : 64 - bit;
      const uint64_t mask = bit_run(static_cast<unsigned>(bit), static_cast<unsigned>(run));
      if ((free_bits()[slot / 64] & mask) != 0) break;
      free_bits()[slot / 64] |= mask;
      slot += run;
      done += run;
    }
    count_back(done, lowest);
    return done;
  }

  // `count` blocks have been marked free, none of them in a word before `lowest`.
  void count_back(size_t count, size_t lowest) {
    if (lowest < first_word) first_word = static_cast<uint8_t>(lowest);
    free_count = static_cast<uint16_t>(free_count + count);
    purged = false;
  }

  // True if there may be a hole, a run of OS pages without a live block, that has not been purged. OS pages that are
  // longer than ours are shared with other spans, and hardly one would be empty: there are no holes then.
  bool may_have_holes() const {
    const size_t os_page = os::page_size();
    return !purged && os_page <= kPageSize && size_t{free_count} * block_size >= os_page;
  }
  // Calls visit(from, to) for each hole in which something may have been written, as bytes from the start.
  template <class Visit>
  void for_each_hole(Visit visit) const;
  // The bytes that purge_holes() would give back.
  size_t bytes_in_holes() const;
  // Gives the OS the holes, if blocks have come back since the last time. Returns the bytes given back.
  size_t purge_holes();

  // Null, or the broken part of the invariant.
  const char* check(bool may_keep_lone = false) const;

 private:
  static constexpr size_t kNoSlot = ~size_t{0};

  bool all_free(size_t slot, size_t end) const {
    bool all = true;
    for_each_word(slot, end - slot,
                  [&](size_t word, uint64_t mask) { all = all && (free_bits()[word] & mask) == mask; });
    return all;
  }

  // The first of `group` free neighbours that take_group could take.
  size_t find_group(size_t group) const {
    for (size_t word = first_word; free_count >= group && word * 64 < carved; ++word) {
      uint64_t first = free_bits()[word];
      if (group > 1) first &= first >> 1 & 0x5555'5555'5555'5555;
      if (group > 2) first &= first >> 2 & 0x1111'1111'1111'1111;
      if (first != 0) return word * 64 + static_cast<size_t>(trailing_zeros(first));
    }
    return kNoSlot;
  }
};

template <class Visit>
void Slab::for_each_hole(Visit visit) const {
  const size_t os_page = os::page_size();
  const size_t edge = size_t{carved} * block_size;  // behind it nothing was ever written
  size_t hole = 0;
  size_t slot = 0;  // the first that reaches into the page
  for (size_t page = 0; page < edge; page += os_page) {
    const size_t next = (page + os_page) / block_size;
    const size_t end = (page + os_page) % block_size == 0 ? next : next + 1;
    if (!all_free(slot, end < carved ? end : carved)) {
      if (hole != page) visit(hole, page);
      hole = page + os_page;
    }
    slot = next;
  }
  const size_t end = round_up(edge, os_page);
  if (hole < end) visit(hole, end);
}

}  // namespace snug
