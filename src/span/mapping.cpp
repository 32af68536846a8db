#include "span/mapping.h"

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/fixed_array.h"
#include "base/units.h"
#include "os/memory.h"

namespace snug {
namespace {

constexpr size_t kMostRoom = size_t{1} << 30;

// The length with room for the block to double.
size_t with_room(size_t bytes) { return bytes + min(bytes, kMostRoom); }

// How much of that is memory: enough that a huge page which begins within the block lies within the memory.
size_t with_memory_ahead(size_t bytes) {
  return min(with_room(bytes), bytes + max(round_down(bytes / kPartUnused, os::page_size()), kChunkSize));
}

}  // namespace

bool Mapping::make(size_t bytes, size_t alignment) {
  start = address_of(os::map(bytes, alignment));
  if (start == 0) return false;
  writable = mapped = bytes;
  return true;
}

bool Mapping::make_to_grow(size_t bytes) {
  if (!make(with_memory_ahead(bytes), 1) && !make(bytes, 1)) return false;
  find_room(bytes, 0);
  return true;
}

bool Mapping::reaches(size_t bytes) const {
  if (writable == mapped) return bytes <= writable;
  return min(round_up(start + bytes, kChunkSize) - start, mapped) <= writable;
}

void Mapping::grow(size_t bytes, bool with_room) {
  if (bytes <= mapped) grow_into_room(bytes);
  if (bytes <= writable) return;
  drop_room();
  for (const size_t more : FixedArray{with_memory_ahead(bytes), bytes}) {
    void* const grown = os::grow(at<void>(start), writable, more);
    if (grown == nullptr) continue;
    start = address_of(grown);
    writable = mapped = more;
    // At the same offset in a chunk as before, so that the kernel moves whole page tables, and breaks no huge page.
    if (with_room) find_room(bytes, start % kChunkSize);
    return;
  }
}

// Turns room into memory. Addresses that were released for it and did not become memory are reserved again.
void Mapping::grow_into_room(size_t bytes) {
  const size_t opened = min(with_memory_ahead(bytes), mapped);
  if (!os::release(at<void>(start + writable), opened - writable)) return;
  for (const size_t more : FixedArray{opened, bytes}) {
    if (more <= writable || !os::lengthen(at<void>(start), writable, more)) continue;
    writable = more;
    break;
  }
  if (writable == opened) return;
  void* const behind = at<void>(start + writable);
  void* const closed = os::reserve(behind, opened - writable);
  if (closed == behind) return;
  // Another mapping lies there by now, and those addresses belong to it.
  if (closed != nullptr) os::release(closed, opened - writable);
  if (mapped != opened) os::release(at<void>(start + opened), mapped - opened);
  mapped = writable;
}

void Mapping::drop_room() {
  if (mapped != writable && os::release(at<void>(start + writable), mapped - writable)) mapped = writable;
}

// Moves the block to a place with room, `behind_boundary` bytes behind a huge page's boundary; stays if there is no
// such place, or no room is needed.
void Mapping::find_room(size_t bytes, size_t behind_boundary) {
  const size_t wanted = with_room(bytes);
  if (wanted <= writable) return;
  const size_t reserved = wanted + kChunkSize;
  const uintptr_t place = address_of(os::reserve(nullptr, reserved));
  if (place == 0) return;
  const size_t before = (behind_boundary - place) % kChunkSize;
  if (before != 0) os::release(at<void>(place), before);
  const uintptr_t fresh = place + before;
  const size_t fresh_bytes = reserved - before;
  if (os::move(at<void>(start), writable, at<void>(fresh))) {
    start = fresh;
    mapped = fresh_bytes;
  } else {
    // It is not known whether the kernel has unmapped the place before it gave up, and another mapping may lie there by
    // now. So those addresses stay as they are.
    os::release(at<void>(fresh + writable), fresh_bytes - writable);
  }
}

}  // namespace snug
