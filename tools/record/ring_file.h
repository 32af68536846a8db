// RingFile: the ring of one process (recorder/ring.h), as its reader sees it. The file is gone as soon as it is mapped;
// a descriptor of its own watches the process, since its number may become another's.
//
// A thread that has drawn a ticket fills its slot within some ten instructions, unless a signal handler leaves it there
// for good. The threads that come behind wait once the ring is full, so the slot is passed over then.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "recorder/ring.h"

namespace snug::tool {

class RingFile {
 public:
  // Nothing if the process has yet to write what it is, or has taken it away. Throws UserError.
  static std::optional<RingFile> open(const std::filesystem::path& path);
  RingFile(RingFile&& other) noexcept;
  // The writers need not wait any more.
  ~RingFile();
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;
  RingFile& operator=(RingFile&&) = delete;

  const recorder::Ring& ring() const { return *ring_; }
  pid_t process() const { return static_cast<pid_t>(ring_->process); }

  // Gives away the events that are there, at most so many; gives back how many these were. `visit(event)`; and before,
  // as soon as an event is seen, `expect(event)`.
  template <class Expect, class Visit>
  std::size_t drain(std::size_t most, Expect expect, Visit visit);
  template <class Visit>
  std::size_t drain(std::size_t most, Visit visit) {
    return drain(most, [](const recorder::RingEvent&) {}, visit);
  }
  // False while a slot is yet to be filled, or an event to be given away.
  bool is_drained() const { return consumed_ == ring_->next.load(std::memory_order_acquire); }
  // Gives away all of a process that has ended. Gives back the calls that it was killed in, or left for good.
  template <class Visit>
  std::size_t drain_rest(Visit visit);
  // Gives up the slot that drain() has come to, if the ring has been full behind it for so long. Whether it did.
  bool pass_over(std::chrono::steady_clock::time_point now);
  static constexpr std::chrono::seconds kPatience{2};

  // Of the ring's memory, what the process has written to.
  std::uint64_t touched_bytes() const {
    const std::uint64_t slots = std::min(ring_->next.load(std::memory_order_relaxed), recorder::kSlots);
    return offsetof(recorder::Ring, slots) + slots * sizeof(recorder::Slot);
  }

  // Whether the process has, and not merely cannot be watched at the moment.
  bool has_ended();
  void set_state(recorder::RingState state) { ring_->state.store(state, std::memory_order_release); }
  // Asks what the allocator says of itself: the process answers at the end of its next call. Nothing if the allocator
  // says nothing, or the process is not recorded at the moment.
  void ask_allocator() {
    recorder::RingState on = recorder::RingState::kOn;
    if (ring_->has_mallinfo)
      ring_->state.compare_exchange_strong(on, recorder::RingState::kAsked, std::memory_order_relaxed);
  }
  void let_sizes_be_told() { ring_->tells_sizes.store(true, std::memory_order_relaxed); }

 private:
  explicit RingFile(recorder::Ring* ring) : ring_(ring) { watch_process(); }
  void watch_process();

  // So many events are read before their slots are given back: the word that says so is one that every thread reads.
  static constexpr std::size_t kTogether = 128;

  recorder::Ring* ring_;
  int descriptor_ = -1;   // of the process
  bool is_gone_ = false;  // it had ended before it could be watched
  std::uint64_t consumed_ = 0;
  std::uint64_t passed_over_ = 0;
  // Since when the ring has been full behind this ticket.
  std::uint64_t stuck_at_ = UINT64_MAX;
  std::chrono::steady_clock::time_point stuck_since_ = {};
};

template <class Expect, class Visit>
std::size_t RingFile::drain(std::size_t most, Expect expect, Visit visit) {
  std::array<recorder::RingEvent, kTogether> events;
  std::size_t all = 0;
  for (std::size_t count = kTogether; count == kTogether; all += count) {
    const std::size_t wanted = std::min(kTogether, most - all);
    for (count = 0; count < wanted; ++count) {
      const recorder::Slot& slot = ring_->slot_of(consumed_ + count);
      const std::uint64_t head = slot.head.load(std::memory_order_acquire);
      if (!recorder::is_head_of(head, consumed_ + count)) break;
      events[count] = event_of(head, slot);
      expect(events[count]);
    }
    if (count == 0) break;
    for (std::size_t i = 0; i < count; ++i) visit(events[i]);
    consumed_ += count;
    ring_->consumed.store(consumed_, std::memory_order_release);
  }
  return all;
}

template <class Visit>
std::size_t RingFile::drain_rest(Visit visit) {
  std::size_t unfinished = passed_over_;
  // More than fit are not there: the program has written over the ring.
  const std::uint64_t held = std::min(ring_->next.load(std::memory_order_acquire) - consumed_, recorder::kSlots);
  for (const std::uint64_t end = consumed_ + held; consumed_ != end; ++consumed_) {
    const recorder::Slot& slot = ring_->slot_of(consumed_);
    const std::uint64_t head = slot.head.load(std::memory_order_acquire);
    if (recorder::is_head_of(head, consumed_))
      visit(event_of(head, slot));
    else
      ++unfinished;
  }
  return unfinished;
}

}  // namespace snug::tool
