// pool/slot.h: what a pool does with the bytes of its slots, and of the blocks in which they lie.
//
//   free slot of a pool      link | …
//   of a checked one         link | kFill …     a read of it is useless, and a write is found when it is handed out
//
// AddressSanitizer is told of every pool's slots, memcheck of those of checked pools and resources (poison.h): the
// program must not touch a slot that is not handed out, its link included, nor the bytes of a slot beside its element.
// So a function that follows links is [[gnu::no_sanitize_address]] and, where memcheck is told, has a Pause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "snug/base/poison.h"

namespace snug {

struct PoolSlot {
  PoolSlot* next;
};

// Checks::kWatches: slots are filled. Checks::kTells: memcheck is told.
template <class Checks>
struct SlotMemory {
  static constexpr bool kFills = Checks::kWatches;
  using Tools = Poison<Checks::kTells>;
  using Pause = typename Tools::Pause;

  // The bytes are not all equal, so that compilers do not call memset for so few bytes; odd, and no address.
  static constexpr std::uint64_t kFill = 0xdbdbdbdbdbdbdb9d;

  // Makes a free slot, a new object, of the bytes, which are an element's or accessible as a whole.
  static PoolSlot* close(void* bytes, PoolSlot* next, std::size_t stride) noexcept {
    const typename Tools::Listener tools;
    // Here the sanitizer reports an element that is free already. The slot's bytes beside the element are still
    // poisoned.
    if constexpr (kPoisonsForSanitizer) static_cast<void>(*static_cast<const volatile char*>(bytes));
    tools.hand_out(bytes, stride);
    if constexpr (kFills) {
      auto* const words = static_cast<char*>(bytes);
      for (std::size_t at = sizeof(PoolSlot); at != stride; at += sizeof kFill)
        __builtin_memcpy(words + at, &kFill, sizeof kFill);
    }
    auto* const slot = ::new (bytes) PoolSlot{next};
    tools.forbid(slot, stride);
    return slot;
  }
  // Makes an element of `size` bytes of a free slot; `next` becomes its link. Null if the fill behind the link was
  // written over.
  static PoolSlot* open(PoolSlot* slot, std::size_t size, std::size_t stride, PoolSlot*& next) noexcept {
    const typename Tools::Listener tools;
    tools.permit(slot, stride);
    next = slot->next;
    if constexpr (kFills) {
      const auto* const words = reinterpret_cast<const char*>(slot);
      for (std::size_t at = sizeof(PoolSlot); at != stride; at += sizeof kFill) {
        std::uint64_t word;
        __builtin_memcpy(&word, words + at, sizeof word);
        if (word != kFill) [[unlikely]]
          return nullptr;
      }
    }
    tools.forbid(slot, stride);
    tools.hand_out(slot, size);
    return slot;
  }

  // The link of a free slot.
  [[gnu::no_sanitize_address]] static PoolSlot* next_of(const PoolSlot* slot) noexcept {
    [[maybe_unused]] const Pause pause;
    return slot->next;
  }
  [[gnu::no_sanitize_address]] static void link(PoolSlot* slot, PoolSlot* next) noexcept {
    [[maybe_unused]] const Pause pause;
    slot->next = next;
  }
  [[gnu::no_sanitize_address]] static PoolSlot* last_of(PoolSlot* slot) noexcept {
    [[maybe_unused]] const Pause pause;
    while (slot->next != nullptr) slot = slot->next;
    return slot;
  }

  // True if the fill behind the link of a free slot is unchanged.
  [[gnu::no_sanitize_address]] static bool is_filled(const PoolSlot* slot, std::size_t stride) noexcept {
    [[maybe_unused]] const Pause pause;
    const auto* const words = reinterpret_cast<const char*>(slot);
    for (std::size_t at = sizeof(PoolSlot); at != stride; at += sizeof(std::uint64_t)) {
      std::uint64_t word;
      __builtin_memcpy(&word, words + at, sizeof word);
      if (word != kFill) return false;
    }
    return true;
  }
};

}  // namespace snug
