// pool_blocks.h: the slow half of PoolStore, whose class is in pool_store.h: growing, shrinking, walking, checking. Who
// uses a PoolStore includes this.
#pragma once

#include <cstdio>

#include "snug/pool_store.h"

namespace snug {

// ---- growing

template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::bytes_for(std::size_t slots) const noexcept {
  if (slots > kMostBytes / stride_) return kMostBytes;
  const std::size_t bits = Checks::kWatches ? (slots + 63) / 64 * 8 : 0;
  return round_up(slots * stride_, alignof(PoolBlock)) + bits + sizeof(PoolBlock);
}

template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::slots_in(std::size_t bytes) const noexcept {
  // Guessed without the bits, which take the room of a few.
  std::size_t slots = (bytes - sizeof(PoolBlock)) / stride_;
  while (bytes_for(slots) > bytes) --slots;
  return slots;
}

template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::next_block_bytes() const noexcept {
  const std::size_t bytes = std::max(next_bytes_, bytes_for(kFewestSlots));
  return bytes <= growth_.most_bytes ? bytes : std::max(growth_.most_bytes, bytes_for(1));
}

template <class Checks, class Source>
bool PoolStore<Checks, Source>::fetch_block(std::size_t bytes) {
  if (bytes >= kMostBytes) return false;
  bytes = round_up(bytes, alignof(PoolBlock));
  char* const start = static_cast<char*>(source_.allocate(bytes, alignment_));
  if (start == nullptr) return false;
  auto* const block = ::new (start + bytes - sizeof(PoolBlock)) PoolBlock{spare_, start, bytes, slots_in(bytes)};
  clear_live_bits(block);
  spare_ = block;
  next_bytes_ = std::min(2 * next_bytes_, std::max(growth_.most_bytes, growth_.first_bytes));
  return true;
}

template <class Checks, class Source>
void PoolStore<Checks, Source>::open_block(PoolBlock* block) noexcept {
  block->next = blocks_;
  blocks_ = block;
  carve_ = block->start;
  carve_end_ = end_of_slots(block);
}

template <class Checks, class Source>
bool PoolStore<Checks, Source>::refill(std::size_t want) {
  if (carve_ == carve_end_) {
    if (spare_ == nullptr && !fetch_block(next_block_bytes())) return false;
    PoolBlock* const block = spare_;
    spare_ = block->next;
    open_block(block);
  }
  const std::size_t room = static_cast<std::size_t>(carve_end_ - carve_) / stride_;
  const std::size_t count = std::min(room, std::max(want, kCarveBytes / stride_));
  // From the last to the first, so that elements come in the order of addresses.
  PoolSlot* head = nullptr;
  for (std::size_t i = count; i-- > 0;) head = ::new (carve_ + i * stride_) PoolSlot{head};
  free_ = head;
  carve_ += count * stride_;
  return true;
}

// ---- shrinking

template <class Checks, class Source>
void PoolStore<Checks, Source>::clear() noexcept {
  while (blocks_ != nullptr) {
    PoolBlock* const block = blocks_;
    blocks_ = block->next;
    clear_live_bits(block);
    block->next = spare_;
    spare_ = block;
  }
  forget_slots();
}

template <class Checks, class Source>
std::size_t PoolStore<Checks, Source>::release_unused() noexcept {
  std::size_t given_back = 0;
  const auto give_back = [&](PoolBlock* block) {
    given_back += block->bytes;
    source_.free(block->start, block->bytes, alignment_);
  };
  while (spare_ != nullptr) {
    PoolBlock* const block = spare_;
    spare_ = block->next;
    give_back(block);
  }
  free_ = sort_by_address(free_);
  blocks_ = sort_by_address(blocks_);
  PoolSlot** free_link = &free_;  // where the free slots of the block at hand begin
  for (PoolBlock** link = &blocks_; *link != nullptr;) {
    PoolBlock* const block = *link;
    char* const end = end_of_carved(block);
    std::size_t free_slots = 0;
    PoolSlot** last_link = free_link;
    for (; *last_link != nullptr && reinterpret_cast<char*>(*last_link) < end; ++free_slots)
      last_link = &(*last_link)->next;
    if (free_slots * stride_ == static_cast<std::size_t>(end - block->start)) {
      *free_link = *last_link;
      *link = block->next;
      if (carve_end_ == end_of_slots(block)) carve_ = carve_end_ = nullptr;
      give_back(block);
    } else {
      free_link = last_link;
      link = &block->next;
    }
  }
  if (blocks_ == nullptr) next_bytes_ = growth_.first_bytes;
  return given_back;
}

// ---- walking

template <class Checks, class Source>
template <class Visit>
void PoolStore<Checks, Source>::for_each_live(Visit&& visit) {
  free_ = sort_by_address(free_);
  blocks_ = sort_by_address(blocks_);
  // What visit frees is pushed in front of this chain and already passed.
  const PoolSlot* next_free = free_;
  for (PoolBlock* block = blocks_; block != nullptr; block = block->next) {
    char* const end = end_of_carved(block);
    for (char* at = block->start; at != end; at += stride_) {
      if (at == reinterpret_cast<const char*>(next_free))
        next_free = next_free->next;
      else
        visit(static_cast<void*>(at));
    }
  }
}

template <class Checks, class Source>
typename PoolStore<Checks, Source>::Place PoolStore<Checks, Source>::find(const void* address) const noexcept {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (PoolBlock* block = blocks_; block != nullptr; block = block->next) {
    const auto start = reinterpret_cast<uintptr_t>(block->start);
    if (wanted < start || wanted >= reinterpret_cast<uintptr_t>(end_of_carved(block))) continue;
    if ((wanted - start) % stride_ != 0) break;
    return {block, (wanted - start) / stride_};
  }
  return {nullptr, 0};
}

template <class Checks, class Source>
PoolStats PoolStore<Checks, Source>::stats() const noexcept {
  PoolStats stats{stride_, 0, 0, 0, 0, 0, uncarved()};
  for (const PoolBlock* chain : {blocks_, spare_}) {
    for (const PoolBlock* block = chain; block != nullptr; block = block->next) {
      ++stats.blocks;
      stats.bytes += block->bytes;
      stats.capacity += block->slots;
    }
  }
  for (const PoolSlot* slot = free_; slot != nullptr; slot = slot->next) ++stats.free;
  stats.live = stats.capacity - stats.free - stats.uncarved;
  return stats;
}

// ---- checking

template <class Checks, class Source>
void PoolStore<Checks, Source>::look_for_leaks() const noexcept {
  std::size_t leaked = 0;
  const void* first = nullptr;
  for (const PoolBlock* block = blocks_; block != nullptr; block = block->next) {
    for (std::size_t slot = 0; slot < block->slots; ++slot) {
      if (!is_live(block, slot)) continue;
      ++leaked;
      const void* const element = block->start + slot * stride_;
      if (first == nullptr || std::less<const void*>{}(element, first)) first = element;
    }
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
  for (const PoolBlock* block = blocks_; block != nullptr; block = block->next) {
    if (reinterpret_cast<const char*>(block) != block->start + block->bytes - sizeof(PoolBlock))
      return "a block's record does not lie at its end";
    if (reinterpret_cast<uintptr_t>(block->start) % alignment_ != 0) return "a block is not aligned";
    if (bytes_for(block->slots) > block->bytes) return "a block is shorter than its slots";
    open_found |= end_of_slots(block) == carve_end_;
    carved += static_cast<std::size_t>(end_of_carved(block) - block->start) / stride_;
    if constexpr (Checks::kWatches) {
      for (std::size_t slot = 0; slot < block->slots; ++slot) live += is_live(block, slot);
    }
  }
  if (!open_found) return "the slots to carve lie in no block";
  std::size_t free_slots = 0;
  for (const PoolSlot* slot = free_; slot != nullptr; slot = slot->next) {
    if (++free_slots > carved) return "the free list is longer than what was carved, or runs in a circle";
    const Place place = find(slot);
    if (place.block == nullptr) return "the free list leads to what is no slot of this pool";
    if constexpr (Checks::kWatches) {
      if (is_live(place.block, place.slot)) return "a live element is in the free list";
    }
  }
  if (Checks::kWatches && live + free_slots != carved) return "not as many slots are live or free as were carved";
  return nullptr;
}

}  // namespace snug
