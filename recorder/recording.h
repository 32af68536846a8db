// Recording: this process's ring, and the functions that write into it. Nothing here allocates. A thread waits only
// outside of our locks and without a ticket, so that a thread with a ticket fills its slot at once. So a signal handler
// may leave a waiting thread for ever, by exit() or siglongjmp(). Between the ticket and the slot lie a few stores; if
// a thread is interrupted there for good, `snug record` skips the slot (tools/record/ring_file.h). If such a thread
// goes on after all, its slot may belong to another ticket, and it spoils that event: claiming the slot would cost each
// event another atomic operation.
//
// A child of a fork, however it was made, must not write into its parent's ring. So the pointer to the ring lies in a
// page that the kernel passes to a child as zeroes, and the child's first event opens a ring of its own.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "recorder/ring.h"
#include "recorder/session.h"
#include "recorder/ticks.h"
#include "trace/operation.h"

namespace snug::recorder {

using trace::Operation;

// The page that the kernel clears in a child.
struct ProcessPage {
  std::atomic<Ring*> ring;
  std::atomic<std::uint32_t> is_opening;
  std::atomic<bool> is_refused;       // there is no ring, and there will be none
  std::atomic<bool> has_first_begun;  // the first thread's begin was recorded
  SessionPath ring_path;
};
static_assert(sizeof(ProcessPage) <= 4096);

struct ThreadState {
  Ring* of;  // the ring that the number is of
  std::uint32_t number;
  std::uint32_t parent;  // the number of the thread that made it; 0 is unknown
  // How many calls of the allocator this thread is inside of. Calls that the allocator makes meanwhile are not
  // recorded.
  std::uint32_t depth;
  // This thread has found that a sample of the allocator is wanted, and takes it when its call has ended.
  bool is_asked;
};

extern ProcessPage* process_page;
extern thread_local constinit ThreadState this_thread;

// Opens the ring of this process; null if there is no `snug record`.
Ring* open_ring();
// Gives the calling thread its number in the ring, and records its birth. If there is no number left, the thread
// records nothing, as if it were inside of the allocator.
void number_thread(Ring& ring);
// Waits until there is room for so many events. False if no events are wanted any more.
bool wait_for_room(Ring& ring, std::uint64_t count);
// True if events are wanted though the ring, if there is one, is in another state than kOn. If that is kAsked, the
// thread notes that it is to take a sample.
bool tells_when_not_on(const Ring* ring);
// Records the calling thread's end. libc may still free memory that it holds for the thread.
void end_thread();

inline Ring* ring_of_process() {
  ProcessPage* const page = process_page;
  if (page != nullptr) [[likely]] {
    Ring* const ring = page->ring.load(std::memory_order_acquire);
    if (ring != nullptr) [[likely]]
      return ring;
  }
  return open_ring();
}

// Makes Slot::when: the moment and the mark.
inline std::uint64_t when_of(const Ring& ring, std::uint8_t mark) {
  const std::uint64_t moment = ring.counts_ticks ? read_ticks() - ring.began_ticks : read_nanoseconds() - ring.began;
  return moment << 8 | mark;
}

// `next` may have been read before `consumed` moved on, and be the lesser of the two.
inline bool has_room(const Ring& ring, std::uint64_t next, std::uint64_t count) {
  const std::uint64_t held = next + count - ring.consumed.load(std::memory_order_acquire);
  return static_cast<std::int64_t>(held) <= static_cast<std::int64_t>(kSlots);
}

// Draws so many tickets, one behind the other, of slots that are free. False if there are not as many.
[[gnu::always_inline]] inline bool try_draw(Ring& ring, std::uint64_t count, std::uint64_t& ticket) {
  ticket = ring.next.load(std::memory_order_relaxed);
  do
    if (!has_room(ring, ticket, count)) [[unlikely]]
      return false;
  while (!ring.next.compare_exchange_weak(ticket, ticket + count, std::memory_order_relaxed));
  return true;
}

// The same, but waits for free slots. False if no events are wanted any more.
inline bool draw(Ring& ring, std::uint64_t count, std::uint64_t& ticket) {
  while (!try_draw(ring, count, ticket))
    if (!wait_for_room(ring, count)) return false;
  return true;
}

inline void fill(Ring& ring, std::uint64_t ticket, std::uint64_t when, std::uint8_t operation, std::uint64_t address,
                 std::uint64_t size) {
  Slot& slot = ring.slot_of(ticket);
  slot.when = when;
  slot.address = address;
  slot.size = size;
  slot.head.store(head_of(ticket, this_thread.number, operation), std::memory_order_release);
}

// The ring, if events are wanted: `snug record` runs, and the thread is not inside of the allocator.
inline Ring* ring_for_event() {
  if (this_thread.depth != 0) [[unlikely]]
    return nullptr;
  Ring* const ring = ring_of_process();
  if (ring == nullptr || ring->state.load(std::memory_order_relaxed) != RingState::kOn) [[unlikely]]
    if (!tells_when_not_on(ring)) return nullptr;
  if (this_thread.of != ring) [[unlikely]] {
    number_thread(*ring);
    if (this_thread.depth != 0) return nullptr;
  }
  return ring;
}

// The ring, if nothing has to be done before an event is recorded. Null does not mean that no events are wanted. Makes
// no call.
inline Ring* ready_ring() {
  const ProcessPage* const page = process_page;
  if (this_thread.depth != 0 || page == nullptr) [[unlikely]]
    return nullptr;
  Ring* const ring = page->ring.load(std::memory_order_acquire);
  const bool is_ready = ring != nullptr && ring == this_thread.of && ring->counts_ticks &&
                        ring->state.load(std::memory_order_relaxed) == RingState::kOn;
  return is_ready ? ring : nullptr;
}

// For a ready ring. False, and nothing is recorded, if there is no room. Makes no call, so that its caller need not
// save registers: that was a fifth of an event's instructions.
[[gnu::always_inline]] inline bool tell_at_once(Ring& ring, std::uint8_t operation, std::uint64_t address,
                                                std::uint64_t size, std::uint8_t mark) {
  const std::uint64_t when = (read_ticks() - ring.began_ticks) << 8 | mark;
  std::uint64_t ticket;
  if (!try_draw(ring, 1, ticket)) [[unlikely]]
    return false;
  fill(ring, ticket, when, operation, address, size);
  return true;
}

// The same in all cases, also if there is no room.
void tell_slowly(std::uint8_t operation, std::uint64_t address, std::uint64_t size, std::uint8_t mark);

inline void tell(std::uint8_t operation, std::uint64_t address, std::uint64_t size, std::uint8_t mark = 0) {
  Ring* const ring = ready_ring();
  if (ring == nullptr || !tell_at_once(*ring, operation, address, size, mark)) [[unlikely]]
    tell_slowly(operation, address, size, mark);
}

inline void tell(Operation operation, const void* block, std::uint64_t size, std::uint8_t mark = 0) {
  tell(static_cast<std::uint8_t>(operation), reinterpret_cast<std::uintptr_t>(block), size, mark);
}

inline void tell_with_rest(Operation operation, std::uint64_t address, std::uint64_t size, std::uint8_t mark,
                           std::uint64_t rest_address, std::uint64_t rest_size) {
  Ring* const ring = ring_for_event();
  if (ring == nullptr) return;
  const std::uint64_t when = when_of(*ring, mark);
  std::uint64_t ticket;
  if (!draw(*ring, 2, ticket)) return;
  fill(*ring, ticket, when, static_cast<std::uint8_t>(operation), address, size);
  fill(*ring, ticket + 1, when, kRest, rest_address, rest_size);
}

// The mark that stands for the alignment.
inline std::uint8_t mark_of(std::uint64_t alignment) {
  if (alignment == 0) return 0;
  return std::has_single_bit(alignment) ? static_cast<std::uint8_t>(std::countr_zero(alignment) + 1) : kOddAlignment;
}

// `refused`: kRefused or 0. Always inlined: GCC 12 thinks it too long, and underrates a call with six arguments.
[[gnu::always_inline]] inline void tell_aligned(Operation operation, const void* block, std::uint64_t size,
                                                std::uint64_t alignment, std::uint8_t refused = 0) {
  const auto mark = static_cast<std::uint8_t>(refused | mark_of(alignment));
  if ((mark & kMark) != kOddAlignment)
    tell(operation, block, size, mark);
  else
    tell_with_rest(operation, reinterpret_cast<std::uintptr_t>(block), size, mark, alignment, 0);
}

// For a block that is freed while its thread is inside of the allocator. Allocations there are the allocator's own, but
// a free may be of the program's block: if the allocator finds thread variables by __tls_get_addr, the dynamic linker
// frees there what it once allocated for variables of libraries. Only the address tells which it is.
inline void tell_gone_inside(const void* block) {
  if (block == nullptr || process_page == nullptr) return;
  Ring* const ring = process_page->ring.load(std::memory_order_acquire);
  if (ring == nullptr || this_thread.of != ring) return;
  const RingState state = ring->state.load(std::memory_order_relaxed);
  if (state == RingState::kPaused || state == RingState::kAbandoned) return;
  const std::uint64_t when = when_of(*ring, 0);
  std::uint64_t ticket;
  if (draw(*ring, 1, ticket)) fill(*ring, ticket, when, kGoesInside, reinterpret_cast<std::uintptr_t>(block), 0);
}

// Lives during a call of the allocator.
class InsideAllocator {
 public:
  InsideAllocator() { ++this_thread.depth; }
  ~InsideAllocator() { --this_thread.depth; }
  InsideAllocator(const InsideAllocator&) = delete;
  InsideAllocator& operator=(const InsideAllocator&) = delete;
};

}  // namespace snug::recorder
