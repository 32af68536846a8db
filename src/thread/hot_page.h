// HotPage: what malloc and free read of the allocator, side by side, where a processor reaches a page by one
// instruction (base/page_address.h): the head table, and right behind it the words that both take, two at a load.
// Elsewhere these are separate variables (thread/head_table.h, allocator/allocator.h), and this is not used.
//
//   padding | head offsets … the last step | a page begins: words
//
// All is zero until the allocator opens, and every call takes a slow path. The limits, `heads_end` and `pages`, are
// written last. No order is asked of a thread that reads them: it is given time. What it loads a good while after the
// other words were written is what was written, and before that it sees no limit (allocator/allocator.cpp).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/page_address.h"
#include "size/class_list.h"
#include "size/class_table.h"

namespace snug {

inline constexpr size_t kHeadSteps = kMediumSizeMax / kSmallStep + 1;

// What takes an inline path: most functions, or a form of operator new or delete that C++ defines by another form
// (c_interface/operator_new.cpp). Those have limits of their own, which stay 0 where the program replaces the other.
enum class PathOf { kFunction, kDerivedOperator };

struct alignas(kHasPageAddress ? kAddressedPage : alignof(size_t)) HotPage {
  static constexpr size_t kSteps = kHasPageAddress ? kHeadSteps : 1;
  static constexpr size_t kTableBytes = kSteps * sizeof(int32_t);
  static constexpr size_t kWordsAt = round_up(kTableBytes, kAddressedPage);

  char padding[kWordsAt - kTableBytes];
  int32_t head_offsets[kSteps];  // from the thread pointer
  // In pairs, as they are loaded.
  size_t heads_end;       // sizes below are in the table
  ptrdiff_t allocations;  // where a thread counts its allocations, from its thread pointer
  uintptr_t base;         // of the window
  size_t pages;           // of the window
  const Atomic<ScaledClass>* classes;
  ptrdiff_t state;  // where a thread's state lies, from its thread pointer
  // The first four again, for the derived operators.
  size_t derived_heads_end;
  ptrdiff_t derived_allocations;
  uintptr_t derived_base;
  size_t derived_pages;
};

SNUG_HIDDEN extern constinit HotPage hot_page SNUG_ASM_NAME("snug_hot_page");

// The words by address, and the end of the table.
class HotWords {
 public:
  SNUG_ALWAYS_INLINE HotWords() { SNUG_PAGE_ADDRESS("snug_hot_page+20480", words_); }

  template <PathOf path>
  SNUG_ALWAYS_INLINE void load_heads(size_t& end, ptrdiff_t& allocations) const {
    load<path == PathOf::kFunction ? offsetof(HotPage, heads_end) : offsetof(HotPage, derived_heads_end)>(end,
                                                                                                          allocations);
  }
  template <PathOf path>
  SNUG_ALWAYS_INLINE void load_window(uintptr_t& base, size_t& pages) const {
    load<path == PathOf::kFunction ? offsetof(HotPage, base) : offsetof(HotPage, derived_base)>(base, pages);
  }
  SNUG_ALWAYS_INLINE void load_slabs(const Atomic<ScaledClass>*& classes, ptrdiff_t& state) const {
    load<offsetof(HotPage, classes)>(classes, state);
  }
  uintptr_t address() const { return address_of(words_); }
  // The entry of a step, which is negative.
  SNUG_ALWAYS_INLINE ptrdiff_t head_offset(ptrdiff_t step) const {
    return reinterpret_cast<const int32_t*>(words_)[step];
  }

 private:
  static_assert(!kHasPageAddress || HotPage::kWordsAt == 20480, "the assembler's words do not lie there");

  template <size_t Offset, class First, class Second>
  SNUG_ALWAYS_INLINE void load(First& first, Second& second) const {
    load_settled_pair<Offset - HotPage::kWordsAt>(words_, first, second);
  }

  const char* words_ = nullptr;
};

}  // namespace snug
