// HeadTable: from the size of a request to the head of its class, in one load. A head lies at the same offset from the
// thread pointer in every thread (elsewhere, from the thread's state), so that neither the class nor the state's
// address is computed on the way.
//
//   small     by size in bytes, up to 1 KiB. Steps of 16 bytes would need a sixteenth of the room, and cost two
//             instructions more on each malloc and sized delete.
//   medium    by size in steps of 256 bytes, up to 64 KiB
//
// The limits are 0 until open(): every request takes a slow path until then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/compiler.h"
#include "size/class_table.h"
#include "thread/thread_state.h"

namespace snug {

// Variables of their own, because a member of a larger object costs a pointer to it: one instruction on each call.
SNUG_HIDDEN extern constinit size_t small_limit;   // sizes below are in small_heads
SNUG_HIDDEN extern constinit size_t sized_limit;   // sizes below are trusted by a sized delete
SNUG_HIDDEN extern constinit size_t medium_limit;  // others below are in medium_heads
SNUG_HIDDEN extern constinit int32_t small_heads[kSmallSizeMax + 1];
SNUG_HIDDEN extern constinit int32_t medium_heads[kMediumSizeMax / kMediumStep + 1];

// What a sized delete does with the size that it is told.
enum class SizedDelete { kTrust, kCheck };

// Fills the tables. Called once, before any block is handed out.
void open_head_table(const ClassTable& table, SizedDelete sized_delete);

SNUG_ALWAYS_INLINE CacheHead* head_at(ptrdiff_t offset) {
  if constexpr (kThreadRelative)
    return reinterpret_cast<CacheHead*>(offset);
  else
    return reinterpret_cast<CacheHead*>(reinterpret_cast<char*>(&thread_state) + offset);
}

SNUG_ALWAYS_INLINE CacheHead* small_head(size_t size) { return head_at(small_heads[size]); }
SNUG_ALWAYS_INLINE CacheHead* medium_head(size_t size) {
  return head_at(medium_heads[(size + kMediumStep - 1) / kMediumStep]);
}

}  // namespace snug
