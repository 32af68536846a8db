#include "allocator/checked_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/allocator.h"
#include "allocator/heap_blocks.h"
#include "allocator/plain_blocks.h"
#include "allocator/refusal.h"
#include "base/bits.h"
#include "base/errno_keeper.h"
#include "base/poison.h"
#include "checked/block_report.h"
#include "checked/call_stack.h"
#include "checked/quarantine.h"
#include "slab/slab.h"
#include "thread/thread_state.h"

namespace snug {
namespace {

constexpr const char* kOverrun = "written to beyond its end";
constexpr const char* kAfterFree = "written to after it was freed, at byte";

constexpr unsigned char kFill = 0xdb;

bool is_too_long(size_t size) { return size > BlockNotes::kMostSize; }

// Records what the caller of the function with this frame does with the block. Not inline: check:on needs no room for
// its array on the stack.
SNUG_NOINLINE void note_event(void* block, size_t usable, BlockNotes::Which which, const void* frame) {
  CallStack stack;
  stack.take(frame);
  allocator.notes.write_event(block, usable, which, {stack.thread, allocator.stacks.keep(stack)});
  if (which == BlockNotes::Which::kAllocation) allocator.notes.write_event(block, usable, BlockNotes::Which::kFree, {});
}

// Writes the note of a block of `usable` bytes, its trailer included, and returns the block; null for null. `frame` is
// that of the function that the program called, or one nearby.
SNUG_ALWAYS_INLINE void* dressed(void* block, size_t usable, size_t size, BlockOrigin origin, const void* frame) {
  if (block == nullptr) return nullptr;
  allocator.notes.write(block, usable, size, origin);
  if (allocator.notes.keeps_events()) [[unlikely]]
    note_event(block, usable, BlockNotes::Which::kAllocation, frame);
  return block;
}
// What a live block outside of malloc's slabs may use; 0 if none starts there.
size_t usable_elsewhere(const void* block) {
  const size_t usable = allocator.user_heaps.are_used() ? usable_in_heap(block) : 0;
  return usable != 0 ? usable : allocator.large_blocks.usable_size(block);
}
void* dressed_large(void* block, size_t size, BlockOrigin origin, const void* frame) {
  return dressed(block, block != nullptr ? usable_elsewhere(block) : 0, size, origin, frame);
}
// A block of whatever kind.
void* dressed_any(void* block, size_t size, BlockOrigin origin, const void* frame) {
  const size_t scaled_class = plain_class_at(block);
  if (scaled_class == 0) return dressed_large(block, size, origin, frame);
  return dressed(block, allocator.table->classes[scaled_class / kClassScale].block_size, size, origin, frame);
}

CallStack stack_of(const void* block, size_t usable, BlockNotes::Which which) {
  CallStack stack;
  BlockEvent event;
  if (!allocator.notes.read_event(block, usable, which, &event)) return stack;
  allocator.stacks.read(event.stack, &stack);
  stack.thread = event.thread;
  return stack;
}

// What is known of a block, for the report that ends the process. `note` is null if it cannot be read.
SNUG_COLD ReportedBlock known_of(const void* block, size_t usable, const BlockNote* note) {
  ReportedBlock known{.start = block, .usable = usable, .note = note};
  if (const UserHeap* const heap = heap_of(block); heap != nullptr) {
    known.heap = heap->name();
    known.is_heap_ended = !heap->is_live();
  }
  if (!allocator.notes.keeps_events()) return known;
  known.has_stacks = true;
  known.allocated = stack_of(block, usable, BlockNotes::Which::kAllocation);
  known.freed = stack_of(block, usable, BlockNotes::Which::kFree);
  return known;
}

[[noreturn]] SNUG_COLD void die_inside(const void* address, const void* start, size_t usable, const char* call) {
  BlockNote note;
  const bool known = allocator.notes.read(start, usable, &note);
  die_of_block(call, address, "points inside a block, at byte", address_of(address) - address_of(start),
               known_of(start, usable, known ? &note : nullptr));
}

// For an address that no slab covers and at which no large block starts.
[[noreturn]] SNUG_COLD void die_of_no_large_start(const void* address, const char* call) {
  const void* start = allocator.large_blocks.block_around(address);
  const size_t usable = start != nullptr ? usable_elsewhere(start) : 0;
  if (usable != 0) die_inside(address, start, usable, call);
  deallocate_large(const_cast<void*>(address), call);  // reports the reason, and ends the process
  abort();
}

// The slab of an address on a page that has a class.
SNUG_ALWAYS_INLINE const Slab& slab_of(const void* block) { return *allocator.page_map.entry_at(block).record<Slab>(); }

// The block's size in the slab; ends the process if none starts there.
SNUG_ALWAYS_INLINE size_t usable_in_slab(const Slab& slab, const SizeClass& sizes, const void* block,
                                         const char* call) {
  if (slab.has_block_at(sizes, block)) [[likely]]
    return sizes.block_size;
  const size_t offset = address_of(block) - address_of(slab.start);
  die_inside(block, slab.start + offset / sizes.block_size * sizes.block_size, sizes.block_size, call);
}

// The usable size of the block that starts there; ends the process if none does.
SNUG_ALWAYS_INLINE size_t usable_at_start(const void* block, const char* call) {
  const size_t scaled_class = plain_class_at(block);
  if (scaled_class == 0) {
    if (const HeapSlab* const own = allocator.user_heaps.slab_at(block); own != nullptr)
      return usable_in_slab(own->slab, allocator.table->classes[own->slab.size_class], block, call);
    const size_t usable = usable_elsewhere(block);
    if (usable == 0) die_of_no_large_start(block, call);
    return usable;
  }
  return usable_in_slab(slab_of(block), allocator.table->classes[scaled_class / kClassScale], block, call);
}

// For a block with a note that reads as zeros: either it is free, and its memory was purged since, or zeros were
// written over the note. The slab's bitmap tells which, and of a block without a slab the second is assumed; the bitmap
// is read without a lock, as the process ends anyway.
SNUG_COLD const char* what_blanked(const void* block) {
  const HeapSlab* const own = allocator.user_heaps.slab_at(block);
  if (own == nullptr && plain_class_at(block) == 0) return kOverrun;
  const Slab& slab = own != nullptr ? own->slab : slab_of(block);
  return slab.is_free_at(allocator.table->classes[slab.size_class], block) ? kAlreadyFree : kOverrun;
}

struct Inspected {
  size_t usable;
  BlockNote note;
};

// Ends the process unless the block is live and its canary is whole. `address` is what the program passed.
SNUG_ALWAYS_INLINE Inspected inspect(const void* block, size_t usable, const char* call, const void* address) {
  Inspected seen{usable, {}};
  if (!allocator.notes.read(block, seen.usable, &seen.note)) {
    const bool blank = allocator.notes.is_blank(block, seen.usable);
    die_of_block(call, address, blank ? what_blanked(block) : kOverrun, known_of(block, seen.usable, nullptr));
  }
  if (!seen.note.is_live) die_of_block(call, address, kAlreadyFree, known_of(block, seen.usable, &seen.note));
  if (allocator.notes.damage(block, seen.usable, seen.note.size) != seen.usable)
    die_of_block(call, address, kOverrun, known_of(block, seen.usable, &seen.note));
  return seen;
}
SNUG_ALWAYS_INLINE Inspected inspect(const void* block, const char* call) {
  return inspect(block, usable_at_start(block, call), call, block);
}

// How many bytes of a block of the size memory checkers are told of. The trailer lies behind them, and is read in the
// quarantine too.
size_t told_bytes(size_t size) { return round_up(size, 8); }

// How many bytes of a block in the quarantine are filled: the user's, and its canary.
size_t filled_bytes(size_t size, size_t usable) { return allocator.notes.canary_end(size, usable); }

[[noreturn]] SNUG_COLD void die_of_write_after_free(const Rested& rested, size_t written) {
  BlockNote note{.trailer = rested.trailer};
  allocator.notes.decode(rested.block, &note);
  die_of_block("free", rested.block, kAfterFree, written, known_of(rested.block, rested.usable, &note));
}

// Checks that a block which leaves the quarantine is as it was when it came. Takes no lock unless it is not, as it may
// run at the end of the process in a signal handler.
SNUG_ALWAYS_INLINE void look_after_rest(const Rested& rested) {
  permit(rested.block, told_bytes(rested.size));
  const size_t filled = filled_bytes(rested.size, rested.usable);
  if (const size_t written = first_other(rested.block, filled, kFill); written != filled) [[unlikely]]
    die_of_write_after_free(rested, written);
  if (const size_t event = allocator.notes.damage_of_events(rested.block, rested.usable); event != rested.usable)
      [[unlikely]]
    die_of_write_after_free(rested, event);
  if (!allocator.notes.has_trailer(rested.block, rested.usable, rested.trailer)) [[unlikely]]
    die_of_write_after_free(rested, rested.usable - BlockNotes::kTrailer);
}

void leave(const Rested* leaving, size_t count) {
  for (size_t i = 0; i != count; ++i) {
    look_after_rest(leaving[i]);
    deallocate_plain(leaving[i].block);
  }
}

// Admits a block that fills its batch, and frees to the heap the blocks that leave the quarantine for it.
SNUG_NOINLINE void rest_last(uintptr_t thread, const Rested& rested) {
  ErrnoKeeper keeper;
  Rested leaving[Quarantine::kMostAtOnce];
  for (size_t count = allocator.quarantine.admit_last(thread, rested, leaving);;
       count = allocator.quarantine.fetch(leaving)) {
    leave(leaving, count);
    if (count != Quarantine::kMostAtOnce) return;
  }
}

SNUG_NOINLINE void release_at_once(void* block) {
  ErrnoKeeper keeper;
  deallocate_plain(block);
}

SNUG_ALWAYS_INLINE void rest(const Rested& rested) {
  // A heap's region is the program's again once the heap is destroyed: nothing of it rests.
  if (!allocator.quarantine.has_room_for(rested.size) || allocator.user_heaps.regions().knows(rested.block))
    return release_at_once(rested.block);
  memset(rested.block, kFill, filled_bytes(rested.size, rested.usable));
  poison(rested.block, told_bytes(rested.size));
  const uintptr_t thread = address_of(&thread_state);
  if (!allocator.quarantine.admit(thread, rested)) rest_last(thread, rested);
}

SNUG_ALWAYS_INLINE void mark_ended(void* block, const Inspected& seen, const char* call, const void* frame) {
  if (!allocator.notes.end(block, seen.usable, seen.note))
    die_of_block(call, block, kAlreadyFree, known_of(block, seen.usable, &seen.note));
  if (allocator.notes.keeps_events()) [[unlikely]]
    note_event(block, seen.usable, BlockNotes::Which::kFree, frame);
}

SNUG_ALWAYS_INLINE void end_life(void* block, const Inspected& seen, const char* call, const void* frame) {
  mark_ended(block, seen, call, frame);
  rest({block, seen.usable, seen.note.size, BlockNotes::trailer_of_freed(seen.note)});
}

void* resize_plain_large(void* block, size_t bytes) {
  void* const resized = allocator.large_blocks.resize(block, bytes);
  if (resized != nullptr) allocator.purge_kept_mappings();
  return resized;
}

// Reports a call that frees or resizes blocks of one origin, and was given a block of another.
[[noreturn]] SNUG_COLD void die_of_mismatch(const void* block, const Inspected& seen, const char* call) {
  static constexpr const char* kReasons[] = {"was allocated by malloc", "was allocated by new",
                                             "was allocated by new[]"};
  die_of_block(call, block, kReasons[static_cast<size_t>(seen.note.origin)], known_of(block, seen.usable, &seen.note));
}

}  // namespace

void* allocate_checked(size_t size, BlockOrigin origin, UserHeap* heap) noexcept {
  if (is_too_long(size)) return out_of_memory();
  const size_t bytes = size + allocator.notes.overhead();
  if (heap != nullptr) [[unlikely]]
    return dressed_large(allocate_plain_in(*heap, bytes), size, origin, SNUG_FRAME_ADDRESS());
  const ClassTable& table = *allocator.table;
  if (bytes > table.max_size) return dressed_large(allocate_plain(bytes), size, origin, SNUG_FRAME_ADDRESS());
  const size_t size_class = table.class_of(bytes);
  return dressed(allocate_plain_of_class(size_class, bytes), table.classes[size_class].block_size, size, origin,
                 SNUG_FRAME_ADDRESS());
}

void* allocate_checked_zeroed(size_t size, UserHeap* heap) noexcept {
  if (is_too_long(size)) return out_of_memory();
  const LargeRequest request = {.size = size + allocator.notes.overhead(), .zeroed = true};
  if (request.size > allocator.table->max_size)
    return dressed_large(heap != nullptr ? allocate_large_in(*heap, request) : allocate_plain_large(request), size,
                         BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS());
  void* block = allocate_checked(size, BlockOrigin::kMalloc, heap);
  if (block != nullptr) memset(block, 0, size);
  return block;
}

void* allocate_checked_aligned(size_t alignment, size_t size, BlockOrigin origin, UserHeap* heap) noexcept {
  if (is_too_long(size)) return out_of_memory();
  const size_t bytes = size + allocator.notes.overhead();
  void* const block =
      heap != nullptr ? allocate_plain_aligned_in(*heap, alignment, bytes) : allocate_plain_aligned(alignment, bytes);
  return dressed_any(block, size, origin, SNUG_FRAME_ADDRESS());
}

void deallocate_checked(void* block, BlockOrigin fits, size_t told) noexcept {
  const char* call = release_of(fits);
  const Inspected seen = inspect(block, call);
  if (seen.note.origin != fits) die_of_mismatch(block, seen, call);
  if (told != kUntoldSize && told != seen.note.size)
    die_of_block(call, block, "was told a wrong size,", told, known_of(block, seen.usable, &seen.note));
  end_life(block, seen, call, SNUG_FRAME_ADDRESS());
}

void* resize_checked(void* block, size_t size, const char* call, UserHeap* into) noexcept {
  const Inspected seen = inspect(block, call);
  if (seen.note.origin != BlockOrigin::kMalloc) die_of_mismatch(block, seen, call);
  if (is_too_long(size)) return out_of_memory();
  const size_t bytes = size + allocator.notes.overhead();
  const bool is_large = seen.usable > allocator.table->max_size;
  const bool will_be_large = bytes > allocator.table->max_size;
  UserHeap* const heap = heap_of(block);
  const bool stays = into == nullptr || into == heap;
  if (stays && is_large && will_be_large)
    if (void* resized = heap != nullptr ? resize_large_in_heap(*heap, block, bytes) : resize_plain_large(block, bytes);
        resized != nullptr)
      return dressed_large(resized, size, BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS());
  if (stays && !is_large && !will_be_large &&
      allocator.table->classes[allocator.table->class_of(bytes)].block_size == seen.usable)
    return dressed(block, seen.usable, size, BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS());
  UserHeap* const target = into != nullptr ? into : heap;
  const ScopePause pause;
  const bool may_stay = stays && size <= seen.note.size;
  const Wish wish(may_stay);
  void* fresh = target != nullptr ? allocate_plain_in(*target, bytes)
                : will_be_large   ? allocate_plain_large({.size = bytes, .will_grow = size > seen.note.size})
                                  : allocate_plain(bytes);
  dressed_any(fresh, size, BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS());
  if (fresh == nullptr)
    return may_stay ? dressed(block, seen.usable, size, BlockOrigin::kMalloc, SNUG_FRAME_ADDRESS()) : nullptr;
  memcpy(fresh, block, size < seen.note.size ? size : seen.note.size);
  end_life(block, seen, call, SNUG_FRAME_ADDRESS());
  return fresh;
}

size_t checked_size(const void* block, const char* call) noexcept { return inspect(block, call).note.size; }

bool is_live_checked(const void* block, size_t usable, size_t* size) noexcept {
  BlockNote note;
  const bool is_whole = allocator.notes.read(block, usable, &note);
  *size = is_whole ? note.size : usable;
  // In a child of fork a block without a note may be one that a thread of the parent's was about to hand out.
  return is_whole ? note.is_live : !allocator.user_heaps.have_forked();
}

// Blocks that end here are linked through their first words, since what rests may bring others home, and so
// change the lists of slabs that the visit goes through.
bool destroy_checked(UserHeap& heap) noexcept {
  static constexpr const char* kCall = "snug_heap_destroy";
  UserHeaps& heaps = allocator.user_heaps;
  const auto is_live = [](void* block, size_t usable) { return is_live_checked(block, usable, &usable); };
  const auto if_live = [&](auto act) { return heaps.visit(heap, is_live, act); };
  if (heaps.must_be_empty(heap) && if_live([](void*, size_t) { return 1; }) != 0) return false;
  if (heap.is_in_region()) {  // none of it rests, and what the program wrote there stays
    if_live([&](void* block, size_t usable) { return static_cast<void>(inspect(block, usable, kCall, &heap)), 0; });
    return heaps.destroy(heap, false, [](void*) {});
  }
  void* ended = nullptr;
  if_live([&](void* block, size_t usable) {
    const Inspected seen = inspect(block, usable, kCall, &heap);
    mark_ended(block, seen, kCall, SNUG_FRAME_ADDRESS());
    memcpy(block, &ended, sizeof ended);
    ended = block;
    return 0;
  });
  heaps.rest(heap);
  while (ended != nullptr) {
    void* const block = ended;
    memcpy(&ended, block, sizeof ended);
    Inspected seen{usable_elsewhere(block), {}};
    allocator.notes.read(block, seen.usable, &seen.note);
    rest({block, seen.usable, seen.note.size, seen.note.trailer});
  }
  heaps.end_if_empty(heap);
  return true;
}

bool release_rested() noexcept {
  Rested leaving[Quarantine::kMostAtOnce];
  bool any = false;
  while (const size_t count = allocator.quarantine.fetch_all(leaving)) {
    leave(leaving, count);
    any = true;
  }
  return any;
}

void end_quarantine() noexcept {
  Rested leaving[Quarantine::kMostAtOnce];
  while (const size_t count = allocator.quarantine.fetch_any(leaving))
    for (size_t i = 0; i != count; ++i) look_after_rest(leaving[i]);
}

}  // namespace snug
