// pool/store.h: the core of a pool, for one thread at a time. Users write Pool (pool.h); the thread policies and the
// std::pmr resources are built on this. The functions that are not inlined are in pool/blocks.h.
//
//   element   what the caller receives
//   slot      the place of an element. A free one holds the link to the next free one, so that an element costs nothing
//             beside its slot, and a slot is no shorter than a pointer
//   block     memory from the source: about 1 KB at first, then twice as much each time up to a bound
//   carved    of a slot: handed out, or linked into the free list, at least once. Slots are carved some at a time, so
//             that a new block is not touched before it is needed
//   spare     of a block: nothing of it is carved
//
//   block:  slot 0 | slot 1 | … | slot n-1 | one bit for each, if checked: is it live? | record
//
// Only the newest block that is not spare may have slots left to carve: [carve_, carve_end_).
// Invariant: live + free + uncarved == capacity.
//
// A caller may write over all this, so that a record has a seal (seal.h), and a checked pool verifies each link or
// record before it uses it: one by one in an operation on an element, or all of them first where the whole pool is
// walked (check()).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "snug/base/address_order.h"
#include "snug/base/cpp20.h"
#include "snug/base/extremes.h"
#include "snug/base/out_of_memory.h"
#include "snug/pool/block.h"
#include "snug/pool/block_index.h"
#include "snug/pool/checks.h"
#include "snug/pool/slot.h"
#include "snug/pool/source.h"

namespace snug {

// The lengths of blocks in bytes, records included: of the first one, and the bound up to which they double. A block
// holds at least four elements while that stays below the bound, and always at least one.
struct PoolGrowth {
  std::size_t first_bytes = 1024;
  std::size_t most_bytes = 65536;
};

// A value, taken at one moment. capacity == live + free + uncarved.
struct PoolStats {
  std::size_t element_bytes;  // length of a slot
  std::size_t blocks;
  std::size_t bytes;     // of all blocks
  std::size_t capacity;  // slots
  std::size_t live;      // elements that callers hold
  std::size_t free;      // elements that were given back
  std::size_t uncarved;  // slots never used since their block came or the pool dropped all
};

template <class Checks, class Source>
class PoolStore {
 public:
  static constexpr bool kWatched = Checks::kWatches;
  using Slots = SlotMemory<Checks>;

  // `alignment` is a power of two. A pool with a size beyond all memory never has an element.
  constexpr PoolStore(std::size_t size, std::size_t alignment, PoolGrowth growth, TypeText type, Source source)
      : stride_(round_up(smaller(larger(size, sizeof(PoolSlot)), kMostBytes), larger(alignment, alignof(PoolSlot)))),
        alignment_(larger(larger(alignment, alignof(PoolBlock)), alignment_of_stride())),
        growth_(growth),
        next_bytes_(growth.first_bytes),
        type_(type),
        size_(size),
        asked_alignment_(alignment),
        index_(larger(growth.most_bytes, stride_)),
        source_(source) {
    if constexpr (kWatched) {
      if (!std::has_single_bit(alignment)) misused("Pool", this, "the alignment is not a power of two");
    }
  }
  PoolStore(const PoolStore&) = delete;
  PoolStore& operator=(const PoolStore&) = delete;
  // The other one is as if it had just been made.
  PoolStore(PoolStore&& other) noexcept;
  // Live elements of this store are lost, as at its end.
  PoolStore& operator=(PoolStore&& other) noexcept;

  // ---- elements

  // Throws std::bad_alloc if there is no memory, or what the source throws.
  void* allocate() {
    PoolSlot* const slot = pop();
    if (slot == nullptr) [[unlikely]]
      return allocate_slowly();
    return slot;
  }

  // Null if there is no memory.
  void* try_allocate() noexcept(noexcept(std::declval<Source&>().allocate(0, 0))) {
    PoolSlot* const slot = pop();
    if (slot == nullptr) [[unlikely]]
      return try_allocate_slowly();
    return slot;
  }

  // `element` is live and of this pool; if the pool is checked it may be null, which is ignored.
  void deallocate(void* element) noexcept {
    if constexpr (kWatched) {
      const Place place = find(element);
      if (!place.is_known_live()) [[unlikely]] {
        if (element == nullptr) return;
        refuse("deallocate", element, place);
      }
      *place.word &= ~place.bit;
    }
    push(element);
  }

  // A checked pool ends the process unless `element` is live; an unchecked one does nothing.
  void expect_live(const char* call, const void* element) const noexcept {
    if constexpr (kWatched) demand_live(call, element);
  }

  // Up to `want` elements into `out`; less only if there is no memory.
  std::size_t allocate_batch(void** out, std::size_t want) {
    std::size_t got = 0;
    while (got < want) {
      PoolSlot* slot = pop();
      if (slot == nullptr && (!refill(want - got) || (slot = pop()) == nullptr)) break;
      out[got++] = slot;
    }
    return got;
  }

  // Skips nulls.
  void deallocate_batch(void* const* elements, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (kWatched || elements[i] != nullptr) deallocate(elements[i]);
    }
  }

  // ---- the free list, for caches in front of an unchecked store

  // Up to `want` free slots as a chain, null at its end; carves and grows as needed.
  PoolSlot* pop_chain(std::size_t want, std::size_t& got) {
    got = 0;
    if (free_ == nullptr && !refill(want)) return nullptr;
    PoolSlot* const head = free_;
    PoolSlot* last = head;
    PoolSlot* next = Slots::next_of(last);
    for (got = 1; got < want && next != nullptr; ++got) {
      last = next;
      next = Slots::next_of(last);
    }
    free_ = next;
    Slots::link(last, nullptr);
    return head;
  }
  void push_chain(PoolSlot* head, PoolSlot* last) noexcept {
    Slots::link(last, free_);
    free_ = head;
  }
  // hand_out() makes an element of the first slot of an unchecked pool's chain; take_back() makes a slot of an element
  // and puts it before a chain.
  PoolSlot* hand_out(PoolSlot*& chain) const noexcept { return Slots::open(chain, element_size(), stride_, chain); }
  PoolSlot* take_back(void* element, PoolSlot* next) const noexcept { return Slots::close(element, next, stride_); }
  // True if the next slot has to come from a new block of the source.
  bool is_exhausted() const noexcept { return free_ == nullptr && carve_ == carve_end_ && spare_ == nullptr; }

  // ---- the whole pool

  // Makes sure that `count` more elements can be had without asking the source. False if there is no memory.
  bool reserve(std::size_t count);

  // Gives back every block without live elements; the free list ends up in the order of addresses. Returns the bytes
  // given back. O(free log free + blocks log blocks).
  std::size_t release_unused() noexcept;

  // Drops every element without running destructors; the blocks stay. O(blocks), and the bits of a checked pool.
  void drop_all() noexcept;

  // Drops every element without running destructors; all memory goes back to the source. O(blocks).
  void drop_all_and_release() noexcept {
    demand_soundness("drop_all_and_release");
    release_all();
  }

  // The same at the end of a pool's life; a checked pool reports live elements as a leak.
  void end() noexcept {
    demand_soundness("~Pool");
    if constexpr (kWatched) look_for_leaks();
    release_all();
  }

  // Calls visit(void*) for each live element, in the order of addresses. visit may free the element that it is given,
  // and must not touch the pool otherwise. O(slots + free log free).
  template <class Visit>
  void for_each_live(Visit&& visit);

  // O(blocks), O(1) if checked.
  bool owns(const void* address) const noexcept { return find(address).word != nullptr; }

  // O(blocks + free).
  PoolStats stats() const noexcept;

  // Null, or a sentence that names the broken invariant. Verifies each link before it follows it.
  // O(blocks * free); O(slots) if checked.
  const char* check() const noexcept;
  // The same for a chain of at most `most` free slots; their number goes to `count`.
  const char* check_chain(const PoolSlot* chain, std::size_t most, std::size_t& count) const noexcept;

  constexpr std::size_t element_bytes() const noexcept { return stride_; }
  constexpr bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= size_ && alignment <= asked_alignment_;
  }
  const Source& source() const noexcept { return source_; }
  Source& source() noexcept { return source_; }
  PoolName name() const noexcept { return {type_, size_, asked_alignment_}; }

 private:
  // The place of an element's bit, if the pool is checked. A null word: not an element of this pool.
  struct Place {
    uint64_t* word;
    uint64_t bit;

    bool is_live() const noexcept { return (*word & bit) != 0; }
    bool is_known_live() const noexcept { return word != nullptr && is_live(); }
  };

  using Index = std::conditional_t<kWatched, PoolBlockIndex, NoPoolBlockIndex>;

  // So many bytes of new slots are linked at a time: at most an OS page of a new block is touched before it is used.
  static constexpr std::size_t kCarveBytes = 4096;
  static constexpr std::size_t kFewestSlots = 4;
  static constexpr std::size_t kMostBytes = std::numeric_limits<std::size_t>::max() / 2;
  static constexpr const char* kRecordOverwritten = "the record of a block was written over";
  static constexpr const char* kSlotOverwritten = "a free element was written over";
  static constexpr const char* kFreeListEndless = "the free list is longer than what was carved, or runs in a circle";

  static constexpr std::size_t round_up(std::size_t value, std::size_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
  }

  // The alignment that a multiple of the element's size has anyhow. Blocks have it too, up to what operator new
  // promises, since a derived class of the same size may count on it (pooled.h).
  constexpr std::size_t alignment_of_stride() const {
    return smaller(stride_ & (~stride_ + 1), __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  }

  PoolSlot* pop() noexcept {
    PoolSlot* const slot = free_;
    if (slot != nullptr) [[likely]] {
      if constexpr (kWatched) {
        const Place place = demand_free("allocate", slot);
        *place.word |= place.bit;
      }
      if (Slots::open(slot, element_size(), stride_, free_) == nullptr) [[unlikely]]
        misused("allocate", slot, kSlotOverwritten);
    }
    return slot;
  }
  void push(void* element) noexcept { free_ = take_back(element, free_); }
  // The bytes of a slot that belong to its element. An element with a size beyond all memory is never handed out.
  constexpr std::size_t element_size() const noexcept { return size_; }

  [[gnu::noinline]] void* allocate_slowly() {
    if (!refill(1)) throw_out_of_memory();
    return allocate();
  }
  [[gnu::noinline]] void* try_allocate_slowly() noexcept(noexcept(std::declval<Source&>().allocate(0, 0))) {
    return refill(1) ? try_allocate() : nullptr;
  }

  // A number below `end` that differs between blocks, even if they lie alike in their pages.
  static std::size_t scatter(const void* block, std::size_t end) noexcept {
    return static_cast<std::size_t>(reinterpret_cast<uintptr_t>(block) * 0x9e3779b97f4a7c15u >> 32) % end;
  }

  // Puts slots into the free list, which is empty. Carves up to `want`, or as many as an OS page has if that is more;
  // fewer at the beginning of a block.
  bool refill(std::size_t want);
  void open_block(PoolBlock* block) noexcept;
  bool fetch_block(std::size_t bytes);

  std::size_t bytes_for(std::size_t slots) const noexcept;
  std::size_t slots_in(std::size_t bytes) const noexcept;
  std::size_t next_block_bytes() const noexcept;
  std::size_t ready_slots(const char* call, std::size_t enough) const noexcept;
  // Makes room in a checked pool's index for one more block.
  bool make_room_in_index(std::size_t bytes) noexcept;
  void index_blocks() noexcept;
  void sort_by_addresses() noexcept;
  void seal_blocks() noexcept {
    for (PoolBlock* block = blocks_; block != nullptr; block = block->next) block->link(block->next);
  }

  // Gives the block to the source, accessible as a whole.
  void return_block(PoolBlock* block) noexcept {
    Slots::Tools::permit(block->start(), block->slots * stride_);
    source_.deallocate(block->start(), block->bytes, alignment_);
  }
  // Poisons the block's slots, none of which is handed out.
  void close_slots(PoolBlock* block) const noexcept { Slots::Tools::forbid(block->start(), block->slots * stride_); }
  void release_blocks(PoolBlock* chain) noexcept {
    while (chain != nullptr) {
      PoolBlock* const block = chain;
      chain = chain->next;
      return_block(block);
    }
  }
  void release_all() noexcept {
    release_blocks(blocks_);
    release_blocks(spare_);
    blocks_ = spare_ = nullptr;
    forget_slots();
    next_bytes_ = growth_.first_bytes;
    if constexpr (kWatched) index_.release();
  }
  void forget_slots() noexcept {
    free_ = nullptr;
    carve_ = carve_end_ = nullptr;
  }
  PoolSlots slots_of(PoolBlock* block) const noexcept { return {block->start(), block->slots * stride_}; }
  char* end_of_slots(PoolBlock* block) const noexcept { return block->start() + block->slots * stride_; }
  char* end_of_carved(PoolBlock* block) const noexcept {
    char* const end = end_of_slots(block);
    return end == carve_end_ ? carve_ : end;
  }
  std::size_t carved_slots(PoolBlock* block) const noexcept {
    return static_cast<std::size_t>(end_of_carved(block) - block->start()) / stride_;
  }

  Place find(const void* address) const noexcept;
  PoolSlots slots_around(const void* address) const noexcept;

  // ---- the bits of a checked pool

  // Behind the slots.
  static uint64_t* live_bits(PoolSlots slots) noexcept {
    return reinterpret_cast<uint64_t*>(slots.start + slots.bytes);
  }
  void clear_live_bits(PoolBlock* block) noexcept {
    if constexpr (kWatched) std::memset(live_bits(slots_of(block)), 0, (block->slots + 63) / 64 * 8);
  }
  std::size_t live_slots(PoolBlock* block, std::size_t slots) const noexcept;

  // ---- what a checked pool demands

  void demand_live(const char* call, const void* element) const noexcept {
    const Place place = find(element);
    if (!place.is_known_live()) [[unlikely]]
      refuse(call, element, place);
  }
  [[noreturn, gnu::cold]] void refuse(const char* call, const void* element, Place place) const noexcept {
    misused(call, element, place.word == nullptr ? "not an element of this pool" : "element is already free");
  }
  Place demand_free(const char* call, const void* slot) const noexcept {
    const Place place = find(slot);
    if (place.word == nullptr || place.is_live()) [[unlikely]]
      misused(call, slot, "a free element was written over: its link leads here");
    return place;
  }
  void demand_seal(const char* call, const PoolBlock* block) const noexcept {
    if constexpr (kWatched) {
      if (!block->is_sealed()) misused(call, block, kRecordOverwritten);
    }
  }
  void demand_soundness(const char* call) const noexcept {
    if constexpr (kWatched) {
      if (const char* const broken = check()) misused(call, this, broken);
    }
  }
  void look_for_leaks() const noexcept;
  [[noreturn, gnu::cold]] void misused(const char* call, const void* address, const char* reason) const noexcept {
    die_of_pool_misuse(name(), call, address, reason);
  }

  PoolSlot* free_ = nullptr;
  char* carve_ = nullptr;
  char* carve_end_ = nullptr;
  std::size_t stride_;
  PoolBlock* blocks_ = nullptr;
  PoolBlock* spare_ = nullptr;
  std::size_t alignment_;
  PoolGrowth growth_;
  std::size_t next_bytes_;
  TypeText type_;     // empty: the pool is untyped
  std::size_t size_;  // as requested, for messages
  std::size_t asked_alignment_;
  [[no_unique_address]] mutable Index index_;
  [[no_unique_address]] Source source_;
};

}  // namespace snug
