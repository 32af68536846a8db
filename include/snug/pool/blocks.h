// pool/blocks.h: the slow half of PoolStore (the class is in pool/store.h): growing, shrinking, walking, checking. A
// header that uses a PoolStore includes this.
#pragma once

#include <cstdio>

#include "snug/pool/store.h"

namespace snug {

// ---- moving

template <class Checks, class Source>
PoolStore<Checks, Source>::PoolStore(PoolStore&& other) noexcept
    : free_(std::exchange(other.free_, nullptr)),
      carve_(std::exchange(other.carve_, nullptr)),
      carve_end_(std::exchange(other.carve_end_, nullptr)),
      stride_(other.stride_),
      blocks_(std::exchange(other.blocks_, nullptr)),
      spare_(std::exchange(other.spare_, nullptr)),
      alignment_(other.alignment_),
      growth_(other.growth_),
      next_bytes_(std::exchange(other.next_bytes_, other.growth_.first_bytes)),
      type_(other.type_),
      size_(other.size_),
      asked_alignment_(other.asked_alignment_),
      index_(std::exchange(other.index_, Index(larger(other.growth_.most_bytes, other.stride_)))),
      source_(other.source_) {}

template <class Checks, class Source>
PoolStore<Checks, Source>& PoolStore<Checks, Source>::operator=(PoolStore&& other) noexcept {
  if (this == &other) return *this;
  end();
  return *::new (this) PoolStore(std::move(other));
}

// ---- growing

template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::bytes_for(std::size_t slots) const noexcept {
  if (slots > kMostBytes / stride_) return kMostBytes;
  const std::size_t bits = kWatched ? (slots + 63) / 64 * 8 : 0;
  return round_up(slots * stride_, alignof(PoolBlock)) + bits + sizeof(PoolBlock);
}

template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::slots_in(std::size_t bytes) const noexcept {
  // A first guess without the bits, which take the room of a few slots.
  std::size_t slots = (bytes - sizeof(PoolBlock)) / stride_;
  while (bytes_for(slots) > bytes) --slots;
  return slots;
}

template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::next_block_bytes() const noexcept {
  const std::size_t bytes = larger(next_bytes_, bytes_for(kFewestSlots));
  return bytes <= growth_.most_bytes ? bytes : larger(growth_.most_bytes, bytes_for(1));
}

template <class Checks, class Source>
bool PoolStore<Checks, Source>::fetch_block(std::size_t bytes) {
  if (bytes >= kMostBytes) return false;
  bytes = round_up(bytes, alignof(PoolBlock));
  char* const start = static_cast<char*>(source_.allocate(bytes, alignment_));
  if (start == nullptr) return false;
  if (!make_room_in_index(bytes)) {  // behind the source, of which a callback may have used the pool
    source_.deallocate(start, bytes, alignment_);
    return false;
  }
  auto* const block = ::new (start + bytes - sizeof(PoolBlock)) PoolBlock{nullptr, bytes, slots_in(bytes), 0};
  clear_live_bits(block);
  if constexpr (Checks::kTells) look_for_memcheck();
  close_slots(block);
  block->link(spare_);
  spare_ = block;
  if constexpr (kWatched) index_.note(bytes);
  next_bytes_ = smaller(2 * next_bytes_, larger(growth_.most_bytes, growth_.first_bytes));
  return true;
}

template <class Checks, class Source>
bool PoolStore<Checks, Source>::reserve(std::size_t count) {
  std::size_t ready = ready_slots("reserve", count);
  for (bool is_fetched = true; ready < count && is_fetched; ready = ready_slots("reserve", count))
    is_fetched = fetch_block(larger(bytes_for(count - ready), next_block_bytes()));
  return ready >= count;  // a callback of the source's (snug/limits.h) may have freed, or allocated
}

template <class Checks, class Source>
void PoolStore<Checks, Source>::open_block(PoolBlock* block) noexcept {
  block->link(blocks_);
  blocks_ = block;
  carve_ = block->start();
  carve_end_ = end_of_slots(block);
  if constexpr (kWatched) index_.enter(slots_of(block));
}

template <class Checks, class Source>
bool PoolStore<Checks, Source>::refill(std::size_t want) {
  if (carve_ == carve_end_ && spare_ == nullptr) {
    const bool is_fetched = fetch_block(next_block_bytes());
    // A callback of the source's (snug/limits.h) may have freed meanwhile, or allocated, whether the source has more or
    // not.
    if (free_ != nullptr) return true;
    if (!is_fetched && carve_ == carve_end_ && spare_ == nullptr) return false;
  }
  const bool opens = carve_ == carve_end_;
  if (opens) {
    PoolBlock* const block = spare_;
    demand_seal("allocate", block);
    spare_ = block->next;
    open_block(block);
  }
  const std::size_t room = static_cast<std::size_t>(carve_end_ - carve_) / stride_;
  std::size_t count = smaller(room, larger(want, kCarveBytes / stride_));
  // Threads take whole batches, and blocks are so aligned that a thread's elements of many pools would share a set of
  // the processor's cache: so the first portion of each block has a different length.
  if (opens) count = 1 + scatter(carve_, count);
  // From the last to the first, so that elements come in the order of addresses.
  PoolSlot* head = free_;
  Slots::Tools::hand_out(carve_, count * stride_);
  for (std::size_t i = count; i-- > 0;) head = take_back(carve_ + i * stride_, head);
  free_ = head;
  carve_ += count * stride_;
  return true;
}

// How many slots can be had without asking the source, counted up to `enough`.
template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::ready_slots(const char* call, std::size_t enough) const noexcept {
  std::size_t ready = static_cast<std::size_t>(carve_end_ - carve_) / stride_;
  for (const PoolBlock* block = spare_; block != nullptr; block = block->next) {
    demand_seal(call, block);
    ready += block->slots;
  }
  std::size_t steps = 0;
  for (const PoolSlot* slot = free_; slot != nullptr && ready < enough; slot = Slots::next_of(slot)) {
    if constexpr (kWatched) {
      demand_free(call, slot);
      if (++steps > index_.most_bytes() / stride_) misused(call, slot, kFreeListEndless);
    }
    ++ready;
  }
  return ready;
}

template <class Checks, class Source>
bool PoolStore<Checks, Source>::make_room_in_index(std::size_t bytes) noexcept {
  if constexpr (kWatched)
    return index_.make_room_for(bytes, [this] { index_blocks(); });
  else
    return true;
}

// Enters all blocks into the index, which is empty.
template <class Checks, class Source>
void PoolStore<Checks, Source>::index_blocks() noexcept {
  if constexpr (kWatched) {
    for (PoolBlock* const chain : {blocks_, spare_}) {
      for (PoolBlock* block = chain; block != nullptr; block = block->next) {
        demand_seal("allocate", block);
        index_.note(block->bytes);
        if (chain == blocks_) index_.enter(slots_of(block));
      }
    }
  }
}

// ---- shrinking

template <class Checks, class Source>
void PoolStore<Checks, Source>::drop_all() noexcept {
  demand_soundness("drop_all");
  while (blocks_ != nullptr) {
    PoolBlock* const block = blocks_;
    blocks_ = block->next;
    clear_live_bits(block);
    close_slots(block);
    block->link(spare_);
    spare_ = block;
  }
  forget_slots();
  if constexpr (kWatched) {
    index_.clear();
    index_blocks();
  }
}

template <class Checks, class Source>
void PoolStore<Checks, Source>::sort_by_addresses() noexcept {
  [[maybe_unused]] const typename Slots::Pause pause;
  free_ = sort_by_address(free_);
  blocks_ = sort_by_address(blocks_);
  seal_blocks();
}

template <class Checks, class Source>
[[gnu::no_sanitize_address]] std::size_t PoolStore<Checks, Source>::release_unused() noexcept {
  [[maybe_unused]] const typename Slots::Pause pause;
  demand_soundness("release_unused");
  std::size_t given_back = 0;
  const auto give_back = [&](PoolBlock* block) {
    given_back += block->bytes;
    return_block(block);
  };
  while (spare_ != nullptr) {
    PoolBlock* const block = spare_;
    spare_ = block->next;
    give_back(block);
  }
  sort_by_addresses();
  PoolSlot** free_link = &free_;  // where the free slots of the block at hand begin
  for (PoolBlock** link = &blocks_; *link != nullptr;) {
    PoolBlock* const block = *link;
    char* const end = end_of_carved(block);
    std::size_t free_slots = 0;
    PoolSlot** last_link = free_link;
    for (; *last_link != nullptr && reinterpret_cast<char*>(*last_link) < end; ++free_slots)
      last_link = &(*last_link)->next;
    if (free_slots * stride_ == static_cast<std::size_t>(end - block->start())) {
      *free_link = *last_link;
      *link = block->next;
      if (carve_end_ == end_of_slots(block)) carve_ = carve_end_ = nullptr;
      give_back(block);
    } else {
      free_link = last_link;
      link = &block->next;
    }
  }
  seal_blocks();
  if (blocks_ == nullptr) next_bytes_ = growth_.first_bytes;
  if constexpr (kWatched) {
    if (blocks_ == nullptr)
      index_.release();
    else
      index_.clear();
    index_blocks();
  }
  return given_back;
}

// ---- walking

template <class Checks, class Source>
template <class Visit>
void PoolStore<Checks, Source>::for_each_live(Visit&& visit) {
  demand_soundness("for_each_live");
  sort_by_addresses();
  // Slots that visit frees are pushed in front of this chain, which the walk has passed.
  const PoolSlot* next_free = free_;
  for (PoolBlock* block = blocks_; block != nullptr; block = block->next) {
    char* const end = end_of_carved(block);
    for (char* at = block->start(); at != end; at += stride_) {
      if (at == reinterpret_cast<const char*>(next_free))
        next_free = Slots::next_of(next_free);
      else
        visit(static_cast<void*>(at));
    }
  }
}

// The slots of the block in which the address lies; a null start if it lies in none that was opened.
template <class Checks, class Source>
PoolSlots PoolStore<Checks, Source>::slots_around(const void* address) const noexcept {
  if constexpr (kWatched) {
    return index_.find(address);
  } else {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    for (PoolBlock* block = blocks_; block != nullptr; block = block->next) {
      const PoolSlots slots = slots_of(block);
      if (wanted - reinterpret_cast<uintptr_t>(slots.start) < slots.bytes) return slots;
    }
    return {nullptr, 0};
  }
}

template <class Checks, class Source>
typename PoolStore<Checks, Source>::Place PoolStore<Checks, Source>::find(const void* address) const noexcept {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  const PoolSlots slots = slots_around(address);
  const std::size_t offset = wanted - reinterpret_cast<uintptr_t>(slots.start);
  const bool is_carved = wanted - reinterpret_cast<uintptr_t>(carve_) >= static_cast<std::size_t>(carve_end_ - carve_);
  if (slots.start == nullptr || !is_carved) return {nullptr, 0};
  // Most processors divide short numbers in a fraction of the time.
  const bool is_short = slots.bytes <= std::numeric_limits<uint32_t>::max();
  const std::size_t slot = is_short ? static_cast<uint32_t>(offset) / static_cast<uint32_t>(stride_) : offset / stride_;
  if (slot * stride_ != offset) return {nullptr, 0};
  return {live_bits(slots) + slot / 64, uint64_t{1} << slot % 64};
}

template <class Checks, class Source>
PoolStats PoolStore<Checks, Source>::stats() const noexcept {
  demand_soundness("stats");
  PoolStats stats{stride_, 0, 0, 0, 0, 0, ready_slots("stats", 0)};
  for (const PoolBlock* chain : {blocks_, spare_}) {
    for (const PoolBlock* block = chain; block != nullptr; block = block->next) {
      ++stats.blocks;
      stats.bytes += block->bytes;
      stats.capacity += block->slots;
    }
  }
  for (const PoolSlot* slot = free_; slot != nullptr; slot = Slots::next_of(slot)) ++stats.free;
  stats.live = stats.capacity - stats.free - stats.uncarved;
  return stats;
}

// ---- checking

// Among the first `slots` of a block, by the bits of a checked pool.
template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::live_slots(PoolBlock* block, std::size_t slots) const noexcept {
  std::size_t live = 0;
  for (std::size_t slot = 0; slot < slots; slot += 64) {
    const uint64_t word = live_bits(slots_of(block))[slot / 64];
    const std::size_t rest = slots - slot;
    live += static_cast<std::size_t>(std::popcount(rest < 64 ? word & ((uint64_t{1} << rest) - 1) : word));
  }
  return live;
}

template <class Checks, class Source>
void PoolStore<Checks, Source>::look_for_leaks() const noexcept {
  std::size_t leaked = 0;
  const void* first = nullptr;
  for (PoolBlock* block = blocks_; block != nullptr; block = block->next) {
    const std::size_t live = live_slots(block, carved_slots(block));
    if (live == 0) continue;
    leaked += live;
    const uint64_t* const bits = live_bits(slots_of(block));
    std::size_t slot = 0;
    while ((bits[slot / 64] >> slot % 64 & 1) == 0) ++slot;
    const char* const element = block->start() + slot * stride_;
    if (first == nullptr || reinterpret_cast<uintptr_t>(element) < reinterpret_cast<uintptr_t>(first)) first = element;
  }
  if (leaked == 0) return;
  char reason[64];
  std::snprintf(reason, sizeof reason, "%zu still live, the first here", leaked);
  misused("~Pool", first, reason);
}

template <class Checks, class Source>
const char* PoolStore<Checks, Source>::check() const noexcept {
  std::size_t carved = 0;
  std::size_t live = 0;
  bool open_found = carve_ == carve_end_;
  for (PoolBlock* const chain : {blocks_, spare_}) {
    for (PoolBlock* block = chain; block != nullptr; block = block->next) {
      if (!block->is_sealed()) return kRecordOverwritten;
      if (reinterpret_cast<uintptr_t>(block->start()) % alignment_ != 0) return "a block is not aligned";
      if (bytes_for(block->slots) > block->bytes) return "a block is shorter than its slots";
      const std::size_t carved_here = chain == spare_ ? 0 : carved_slots(block);
      if constexpr (kWatched) {
        const std::size_t live_here = live_slots(block, carved_here);
        live += live_here;
        if (live_slots(block, block->slots) != live_here) return "a slot that was never handed out is marked as live";
      }
      if (chain == spare_) continue;
      open_found |= end_of_slots(block) == carve_end_;
      carved += carved_here;
      if constexpr (kWatched) {
        if (index_.look_up(block->start()).start != block->start()) return "the index of blocks was written over";
      }
    }
  }
  if (!open_found) return "the slots to carve lie in no block";
  std::size_t free_slots = 0;
  if (const char* const broken = check_chain(free_, carved, free_slots)) return broken;
  if (kWatched && live + free_slots != carved) return "not as many slots are live or free as were carved";
  return nullptr;
}

template <class Checks, class Source>
const char* PoolStore<Checks, Source>::check_chain(const PoolSlot* chain, std::size_t most,
                                                   std::size_t& count) const noexcept {
  count = 0;
  for (const PoolSlot* slot = chain; slot != nullptr; slot = Slots::next_of(slot)) {
    if (++count > most) return kFreeListEndless;
    const Place place = find(slot);
    if (place.word == nullptr) return "the free list leads to what is no slot of this pool";
    if constexpr (kWatched) {
      if (place.is_live()) return "a live element is in the free list";
      if (!Slots::is_filled(slot, stride_)) return kSlotOverwritten;
    }
  }
  return nullptr;
}

}  // namespace snug
