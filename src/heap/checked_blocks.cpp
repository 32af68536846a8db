#include "heap/checked_blocks.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/bits.h"
#include "base/poison.h"
#include "checked/block_report.h"
#include "checked/call_stack.h"
#include "checked/quarantine.h"
#include "heap/plain_blocks.h"
#include "heap/store.h"
#include "slab/slab.h"
#include "thread/thread_state.h"

namespace snug {
namespace {

constexpr const char* kAlreadyFree = "block is already free";
constexpr const char* kOverrun = "written to beyond its end";
constexpr const char* kAfterFree = "written to after it was freed, at byte";

constexpr unsigned char kFill = 0xdb;

void* out_of_memory() {
  errno = ENOMEM;
  return nullptr;
}

bool is_too_long(size_t size) { return size > BlockNotes::kMostSize; }

// Bytes from the block's start to its end, the trailer's included. The block is one, live or not.
size_t room_of(const void* block) {
  const size_t scaled_class = plain_class_at(block);
  return scaled_class != 0 ? store.table->classes[scaled_class / kClassScale].block_size
                           : store.large_blocks.usable_size(block);
}

// What the caller of the function with this frame does with the block. By itself: check:on does without its array.
SNUG_NOINLINE void note_event(void* block, size_t room, BlockNotes::Which which, const void* frame) {
  CallStack stack;
  stack.take(frame);
  store.notes.write_event(block, room, which, {stack.thread, store.stacks.keep(stack)});
  if (which == BlockNotes::Which::kAllocation) store.notes.write_event(block, room, BlockNotes::Which::kFree, {});
}

// `frame` is that of the function that the program called, or one nearby.
void* dressed(void* block, size_t size, BlockOrigin origin, const void* frame) {
  if (block == nullptr) return nullptr;
  const size_t room = room_of(block);
  store.notes.write(block, room, size, origin);
  if (store.notes.keeps_events()) [[unlikely]]
    note_event(block, room, BlockNotes::Which::kAllocation, frame);
  return block;
}

CallStack stack_of(const void* block, size_t room, BlockNotes::Which which) {
  CallStack stack;
  BlockEvent event;
  if (!store.notes.read_event(block, room, which, &event)) return stack;
  store.stacks.read(event.stack, &stack);
  stack.thread = event.thread;
  return stack;
}

// What is known of a block, for the end of the process. `note` is null if it cannot be read.
SNUG_COLD ReportedBlock known_of(const void* block, size_t room, const BlockNote* note) {
  ReportedBlock known{.start = block, .room = room, .note = note};
  if (!store.notes.keeps_events()) return known;
  known.has_stacks = true;
  known.allocated = stack_of(block, room, BlockNotes::Which::kAllocation);
  known.freed = stack_of(block, room, BlockNotes::Which::kFree);
  return known;
}

[[noreturn]] SNUG_COLD void die_inside(const void* address, const void* start, size_t room, const char* call) {
  BlockNote note;
  const bool known = store.notes.read(start, room, &note);
  die_of_block(call, address, "points inside a block, at byte", address_of(address) - address_of(start),
               known_of(start, room, known ? &note : nullptr));
}

// Of an address that no slab covers and where no large block starts.
[[noreturn]] SNUG_COLD void die_of_no_large_start(const void* address, const char* call) {
  const void* start = store.large_blocks.block_around(address);
  const size_t room = start != nullptr ? store.large_blocks.usable_size(start) : 0;
  if (room != 0) die_inside(address, start, room, call);
  release_large(const_cast<void*>(address), call);  // tells why, and ends the process
  std::abort();
}

// The room of the block that starts there; ends the process if none does.
size_t room_at_start(const void* block, const char* call) {
  const size_t scaled_class = plain_class_at(block);
  if (scaled_class == 0) {
    const size_t room = store.large_blocks.usable_size(block);
    if (room == 0) die_of_no_large_start(block, call);
    return room;
  }
  const SizeClass& sizes = store.table->classes[scaled_class / kClassScale];
  const Slab& slab = *store.window.tag(store.window.page_of(block)).record<Slab>();
  const size_t offset = address_of(block) - address_of(slab.start);
  const size_t slot = sizes.slot_of(offset);
  if (slot * sizes.block_size == offset && slot < slab.capacity) [[likely]]
    return sizes.block_size;
  die_inside(block, slab.start + offset / sizes.block_size * sizes.block_size, sizes.block_size, call);
}

struct Inspected {
  size_t room;
  BlockNote note;
};

// A live block, whose canary is whole; else ends the process.
Inspected inspect(const void* block, const char* call) {
  Inspected seen{room_at_start(block, call), {}};
  if (!store.notes.read(block, seen.room, &seen.note)) {
    const bool blank = store.notes.is_blank(block, seen.room);
    die_of_block(call, block, blank ? kAlreadyFree : kOverrun, known_of(block, seen.room, nullptr));
  }
  if (!seen.note.is_live) die_of_block(call, block, kAlreadyFree, known_of(block, seen.room, &seen.note));
  if (store.notes.damage(block, seen.room, seen.note.size) != seen.room)
    die_of_block(call, block, kOverrun, known_of(block, seen.room, &seen.note));
  return seen;
}

// What memory checkers are told of a block of the size: the trailer, which is read in the quarantine too, lies behind.
size_t told_bytes(size_t size) { return round_up(size, 8); }

// A block that leaves the quarantine is as it was when it came. Takes no lock: a signal handler may have ended the
// process.
void look_after_rest(const Rested& rested) {
  const size_t room = rested.room;
  const size_t size = rested.note.size;
  permit(rested.block, told_bytes(size));
  BlockNote note;
  const bool is_whole = store.notes.read(rested.block, room, &note) && !note.is_live && note.size == size;
  size_t written = first_other(rested.block, size, kFill);
  if (written == size) {
    written = store.notes.damage(rested.block, room, size);
    if (written == room && is_whole) return;
    if (written == room) written = room - BlockNotes::kTrailer;
  }
  die_of_block("free", rested.block, kAfterFree, written, known_of(rested.block, room, &rested.note));
}

// Gives the heap what leaves for a batch that the block fills. By itself: its array is cleared in each call.
SNUG_COLD void rest_last(uintptr_t thread, const Rested& rested) {
  Rested leaving[Quarantine::kMostAtOnce];
  for (size_t count = store.quarantine.admit_last(thread, rested, leaving);; count = store.quarantine.fetch(leaving)) {
    for (size_t i = 0; i != count; ++i) {
      look_after_rest(leaving[i]);
      release_plain(leaving[i].block);
    }
    if (count != Quarantine::kMostAtOnce) return;
  }
}

void rest(const Rested& rested) {
  if (!store.quarantine.has_room_for(rested.note.size)) return release_plain(rested.block);
  std::memset(rested.block, kFill, rested.note.size);
  poison(rested.block, told_bytes(rested.note.size));
  const uintptr_t thread = address_of(&thread_state);
  if (!store.quarantine.admit(thread, rested)) rest_last(thread, rested);
}

void end_life(void* block, const Inspected& seen, const char* call, const void* frame) {
  if (!store.notes.end(block, seen.room, seen.note))
    die_of_block(call, block, kAlreadyFree, known_of(block, seen.room, &seen.note));
  if (store.notes.keeps_events()) [[unlikely]]
    note_event(block, seen.room, BlockNotes::Which::kFree, frame);
  rest({block, seen.room, seen.note});
}

// What a call makes that frees or resizes blocks of one origin, of a block of another.
[[noreturn]] SNUG_COLD void die_of_mismatch(const void* block, const Inspected& seen, const char* call) {
  static constexpr const char* kReasons[] = {"was allocated by malloc", "was allocated by new",
                                             "was allocated by new[]"};
  die_of_block(call, block, kReasons[static_cast<size_t>(seen.note.origin)], known_of(block, seen.room, &seen.note));
}

}  // namespace

void* allocate_checked(size_t size, BlockOrigin origin) noexcept {
  if (is_too_long(size)) return out_of_memory();
  return dressed(allocate_plain(size + store.notes.overhead()), size, origin, SNUG_FRAME_ADDRESS());
}

void* allocate_checked_zeroed(size_t size) noexcept {
  if (is_too_long(size)) return out_of_memory();
  const size_t bytes = size + store.notes.overhead();
  if (bytes > store.table->max_size)
    return dressed(allocate_plain_large({.size = bytes, .zeroed = true}), size, BlockOrigin::kMalloc,
                   SNUG_FRAME_ADDRESS());
  void* block = allocate_checked(size, BlockOrigin::kMalloc);
  if (block != nullptr) std::memset(block, 0, size);
  return block;
}

void* allocate_checked_aligned(size_t alignment, size_t size, BlockOrigin origin) noexcept {
  if (is_too_long(size)) return out_of_memory();
  return dressed(allocate_plain_aligned(alignment, size + store.notes.overhead()), size, origin, SNUG_FRAME_ADDRESS());
}

void release_checked(void* block, BlockOrigin fits, size_t told) noexcept {
  const char* call = release_of(fits);
  const Inspected seen = inspect(block, call);
  if (seen.note.origin != fits) die_of_mismatch(block, seen, call);
  if (told != kUntoldSize && told != seen.note.size)
    die_of_block(call, block, "was told a wrong size,", told, known_of(block, seen.room, &seen.note));
  end_life(block, seen, call, SNUG_FRAME_ADDRESS());
}

void* resize_checked(void* block, size_t size, const char* call) noexcept {
  const Inspected seen = inspect(block, call);
  if (seen.note.origin != BlockOrigin::kMalloc) die_of_mismatch(block, seen, call);
  if (is_too_long(size)) return out_of_memory();
  const size_t bytes = size + store.notes.overhead();
  const size_t scaled_class = plain_class_at(block);
  const bool will_be_large = bytes > store.table->max_size;
  if (scaled_class == 0 && will_be_large)
    if (void* resized = store.large_blocks.resize(block, bytes); resized != nullptr)
      return dressed(resized, size, BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS());
  if (scaled_class != 0 && !will_be_large && store.table->class_of(bytes) == scaled_class / kClassScale)
    return dressed(block, size, BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS());
  void* fresh =
      will_be_large ? allocate_plain_large({.size = bytes, .will_grow = size > seen.note.size}) : allocate_plain(bytes);
  dressed(fresh, size, BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS());
  if (fresh == nullptr)
    return size <= seen.note.size ? dressed(block, size, BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS()) : nullptr;
  std::memcpy(fresh, block, size < seen.note.size ? size : seen.note.size);
  end_life(block, seen, call, SNUG_FRAME_ADDRESS());
  return fresh;
}

size_t checked_size(const void* block, const char* call) noexcept { return inspect(block, call).note.size; }

void settle_quarantine() noexcept {
  Rested leaving[Quarantine::kMostAtOnce];
  while (const size_t count = store.quarantine.fetch_any(leaving))
    for (size_t i = 0; i != count; ++i) look_after_rest(leaving[i]);
}

}  // namespace snug
