// pool_store.h: what a pool is made of, for one thread at a time. Users write Pool (pool.h); the thread policies and
// the std::pmr resources are built on this. The functions that are not inlined are in pool_blocks.h.
//
//   element   what the caller receives
//   slot      the place of an element. A free one holds the link to the next free one, so that an element costs nothing
//             beside its slot, and a slot is no shorter than a pointer
//   block     what the source gave: about 1 KB at first, then twice as much each time up to a bound
//   carved    of a slot: handed out, or linked into the free list, at least once. Slots are carved some at a time, so
//             that a new block is not touched before it is needed
//   spare     of a block: nothing of it is carved
//
//   block:  slot 0 | slot 1 | … | slot n-1 | one bit for each, if checked: is it live? | record
//
// Only the newest block that is not spare may have slots left to carve: [carve_, carve_end_).
// Invariant: live + free + uncarved == capacity.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "snug/address_order.h"
#include "snug/cpp20.h"
#include "snug/pool_checks.h"
#include "snug/pool_source.h"

namespace snug {

// How long blocks are, in bytes, all of the block counted: the first one, doubling from there, and at most. A block
// holds four elements at least as long as that stays below the bound, and always one.
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
  std::size_t uncarved;  // slots never used since their block came or the pool was cleared
};

// What alloc() of an empty pool does when the source has nothing.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_out_of_memory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

struct PoolSlot {
  PoolSlot* next;
};

struct PoolBlock {
  PoolBlock* next;
  char* start;
  std::size_t bytes;
  std::size_t slots;

  uint64_t* live_bits() const {
    return reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(this)) - (slots + 63) / 64;
  }
};

template <class Checks, class Source>
class PoolStore {
 public:
  static constexpr bool kWatched = Checks::kWatches;

  // `alignment` is a power of two. A size beyond all memory is that of a pool that never has any.
  constexpr PoolStore(std::size_t size, std::size_t alignment, PoolGrowth growth, std::string_view type, Source source)
      : stride_(round_up(std::clamp(size, sizeof(PoolSlot), kMostBytes), std::max(alignment, alignof(PoolSlot)))),
        alignment_(std::max(alignment, alignof(PoolBlock))),
        growth_(growth),
        next_bytes_(growth.first_bytes),
        type_(type),
        size_(size),
        asked_alignment_(alignment),
        source_(source) {
    if constexpr (Checks::kWatches) {
      if (!std::has_single_bit(alignment)) misused("Pool", this, "the alignment is not a power of two");
    }
  }
  PoolStore(const PoolStore&) = delete;
  PoolStore& operator=(const PoolStore&) = delete;

  // ---- elements

  // Throws std::bad_alloc if there is no memory, or what the source throws.
  void* alloc() {
    PoolSlot* const slot = pop();
    if (slot == nullptr) [[unlikely]]
      return alloc_slowly();
    note_alloc(slot);
    return slot;
  }

  // Null if there is no memory.
  void* try_alloc() noexcept(noexcept(std::declval<Source&>().allocate(0, 0))) {
    PoolSlot* const slot = pop();
    if (slot == nullptr) [[unlikely]]
      return try_alloc_slowly();
    note_alloc(slot);
    return slot;
  }

  // `element` is live and of this pool, and not null.
  void free(void* element) noexcept {
    note_free(element);
    push(element);
  }

  // Up to `want` elements into `out`; less only if there is no memory.
  std::size_t alloc_batch(void** out, std::size_t want) {
    std::size_t got = 0;
    while (got < want) {
      PoolSlot* slot = pop();
      if (slot == nullptr && (!refill(want - got) || (slot = pop()) == nullptr)) break;
      note_alloc(slot);
      out[got++] = slot;
    }
    return got;
  }

  void free_batch(void* const* elements, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) free(elements[i]);
  }

  // ---- the free list, for caches in front of the store, which tell it of their callers' elements themselves

  // Up to `want` free slots as a chain, null at its end; carves and grows as needed.
  PoolSlot* pop_chain(std::size_t want, std::size_t& got) {
    got = 0;
    if (free_ == nullptr && !refill(want)) return nullptr;
    PoolSlot* const head = free_;
    PoolSlot* last = head;
    for (got = 1; got < want && last->next != nullptr; ++got) last = last->next;
    free_ = last->next;
    last->next = nullptr;
    return head;
  }
  void push_chain(PoolSlot* head, PoolSlot* last) noexcept {
    last->next = free_;
    free_ = head;
  }

  void note_alloc(void* element) noexcept {
    if constexpr (Checks::kWatches) {
      const Place place = find(element);
      place.block->live_bits()[place.slot / 64] |= uint64_t{1} << place.slot % 64;
    }
  }
  void note_free(void* element) noexcept {
    if constexpr (Checks::kWatches) {
      const Place place = find(element);
      if (place.block == nullptr) misused("free", element, "not an element of this pool");
      uint64_t& word = place.block->live_bits()[place.slot / 64];
      const uint64_t bit = uint64_t{1} << place.slot % 64;
      if ((word & bit) == 0) misused("free", element, "element is already free");
      word &= ~bit;
    }
  }

  // ---- the whole pool

  // Makes sure that `count` more elements can be had without asking the source. False if there is no memory.
  bool reserve(std::size_t count) {
    std::size_t ready = uncarved();
    for (PoolSlot* slot = free_; slot != nullptr && ready < count; slot = slot->next) ++ready;
    return ready >= count || fetch_block(std::max(bytes_for(count - ready), next_block_bytes()));
  }

  // Gives back every block without live elements; the free list ends up in the order of addresses. Returns the bytes
  // given back. O(free log free + blocks log blocks).
  std::size_t release_unused() noexcept;

  // Every element is gone, no destructor is run, the blocks stay. O(blocks), and the bits of a checked pool.
  void clear() noexcept;

  // Every element is gone, no destructor is run, all memory goes back to the source. O(blocks).
  void release() noexcept {
    release_blocks(blocks_);
    release_blocks(spare_);
    blocks_ = spare_ = nullptr;
    forget_slots();
    next_bytes_ = growth_.first_bytes;
  }

  // The same at the end of a pool's life, where live elements are a leak if the pool is checked.
  void end() noexcept {
    if constexpr (Checks::kWatches) look_for_leaks();
    release();
  }

  // Calls visit(void*) for each live element, in the order of addresses. visit may free the element that it is given,
  // and must not touch the pool otherwise. O(slots + free log free).
  template <class Visit>
  void for_each_live(Visit&& visit);

  bool owns(const void* address) const noexcept { return find(address).block != nullptr; }

  // O(blocks + free).
  PoolStats stats() const noexcept;

  // Null, or a sentence that names the broken invariant. O(blocks * free).
  const char* check() const noexcept;

  constexpr std::size_t element_bytes() const noexcept { return stride_; }
  const Source& source() const noexcept { return source_; }
  Source& source() noexcept { return source_; }
  PoolName name() const noexcept { return {type_, size_, asked_alignment_}; }

 private:
  // A null block: not an element of this pool.
  struct Place {
    PoolBlock* block;
    std::size_t slot;
  };

  // So many bytes of new slots are linked at a time: no more of a new block than an OS page is touched ahead of its
  // use.
  static constexpr std::size_t kCarveBytes = 4096;
  static constexpr std::size_t kFewestSlots = 4;
  static constexpr std::size_t kMostBytes = std::numeric_limits<std::size_t>::max() / 2;

  static constexpr std::size_t round_up(std::size_t value, std::size_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
  }

  PoolSlot* pop() noexcept {
    PoolSlot* const slot = free_;
    if (slot != nullptr) [[likely]]
      free_ = slot->next;
    return slot;
  }
  // The element's bytes become a link: a new object, whatever type was there.
  void push(void* element) noexcept { free_ = ::new (element) PoolSlot{free_}; }

  [[gnu::noinline]] void* alloc_slowly() {
    if (!refill(1)) throw_out_of_memory();
    return alloc();
  }
  [[gnu::noinline]] void* try_alloc_slowly() noexcept(noexcept(std::declval<Source&>().allocate(0, 0))) {
    return refill(1) ? try_alloc() : nullptr;
  }

  // After it the free list, which is empty, has a slot. Carves up to `want`, or what lies in an OS page if that is
  // more.
  bool refill(std::size_t want);
  void open_block(PoolBlock* block) noexcept;
  bool fetch_block(std::size_t bytes);

  std::size_t bytes_for(std::size_t slots) const noexcept;
  std::size_t slots_in(std::size_t bytes) const noexcept;
  std::size_t next_block_bytes() const noexcept;

  void release_blocks(PoolBlock* chain) noexcept {
    while (chain != nullptr) {
      PoolBlock* const block = chain;
      chain = chain->next;
      source_.free(block->start, block->bytes, alignment_);
    }
  }
  void forget_slots() noexcept {
    free_ = nullptr;
    carve_ = carve_end_ = nullptr;
  }
  char* end_of_slots(const PoolBlock* block) const noexcept { return block->start + block->slots * stride_; }
  char* end_of_carved(const PoolBlock* block) const noexcept {
    char* const end = end_of_slots(block);
    return end == carve_end_ ? carve_ : end;
  }
  std::size_t uncarved() const noexcept {
    std::size_t slots = static_cast<std::size_t>(carve_end_ - carve_) / stride_;
    for (const PoolBlock* block = spare_; block != nullptr; block = block->next) slots += block->slots;
    return slots;
  }

  Place find(const void* address) const noexcept;
  static bool is_live(const PoolBlock* block, std::size_t slot) noexcept {
    return (block->live_bits()[slot / 64] >> slot % 64 & 1) != 0;
  }
  static void clear_live_bits(PoolBlock* block) noexcept {
    if constexpr (Checks::kWatches) std::memset(block->live_bits(), 0, (block->slots + 63) / 64 * 8);
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
  std::string_view type_;  // empty: the pool is untyped
  std::size_t size_;       // as asked for: what messages say
  std::size_t asked_alignment_;
  [[no_unique_address]] Source source_;
};

}  // namespace snug
