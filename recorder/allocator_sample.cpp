#include "recorder/allocator_sample.h"

#include "recorder/watched.h"

namespace snug::recorder {

// Only one thread answers. In a child of a fork the ring has not asked.
void tell_allocator_sample() {
  this_thread.is_asked = false;
  const ErrnoKeeper keeper;
  Ring* const ring = ring_for_event();
  this_thread.is_asked = false;
  RingState asked = RingState::kAsked;
  if (ring == nullptr || !watched.has_mallinfo ||
      !ring->state.compare_exchange_strong(asked, RingState::kOn, std::memory_order_relaxed))
    return;
  const std::uint64_t before = when_of(*ring, 0);
  std::uint64_t ticket;
  if (!draw(*ring, 1, ticket)) return;
  fill(*ring, ticket, before, kMallinfoBegins, 0, 0);
  trace::Mallinfo2 info;
  {
    const InsideAllocator inside;
    info = watched.mallinfo2();
  }
  const std::uint64_t when = when_of(*ring, 0);
  if (!draw(*ring, kMallinfoSlots, ticket)) return;
  for (std::size_t slot = 0; slot < kMallinfoSlots; ++slot)
    fill(*ring, ticket + slot, slot + 1 == kMallinfoSlots ? before : when, slot == 0 ? kMallinfo : kRest,
         info.fields[2 * slot], info.fields[2 * slot + 1]);
}

}  // namespace snug::recorder
