#include "trace/thread_writer.h"

#include <algorithm>

namespace snug::trace {

namespace {

bool has_text(const Event& event) { return !event.texts[0].empty() || !event.texts[1].empty(); }

bool names_another_thread(const Event& event, std::uint32_t thread) {
  return event.block != BlockId::kNone && thread_of(event.block) != thread;
}

}  // namespace

void ThreadWriter::begin(const Supply& supply, std::uint32_t thread, std::uint64_t number) {
  supply_ = supply;
  at_ = {.thread = thread, .turn = supply.turns->load(std::memory_order_relaxed), .number = number};
  chunk_ = nullptr;
  serial_ = 0;
  aside_number_.store(kFirstAsideNumber, std::memory_order_relaxed);
  aside_count_.store(0, std::memory_order_relaxed);
  lost_.store(0, std::memory_order_relaxed);
  is_busy_.store(false, std::memory_order_relaxed);
}

void ThreadWriter::finish() {
  if (chunk_ != nullptr) seal();
}

BlockId ThreadWriter::append(const Event& event) {
  if (is_busy_.load(std::memory_order_relaxed)) return set_aside(event);
  is_busy_.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Stamp stamp = stamp_of(event);
  if (stamp.takes_turn) stamp.turn = supply_.turns->fetch_add(1, std::memory_order_relaxed) + 1;
  const BlockId result = event.allocates() ? block_id(at_.thread, at_.number) : BlockId::kNone;
  add(event, stamp, result);
  // Whoever interrupts after the last look and before the mark goes leaves its events to the look behind the mark.
  for (;;) {
    add_aside();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_busy_.store(false, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (aside_count_.load(std::memory_order_relaxed) == 0) return result;
    is_busy_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

// Of a turn that is to be taken, not which.
Stamp ThreadWriter::stamp_of(const Event& event) const {
  const bool takes_turn =
      event.takes_turn || traits_of(event.operation).takes_turn || names_another_thread(event, at_.thread);
  return {event.time, takes_turn ? 0 : supply_.turns->load(std::memory_order_relaxed), takes_turn};
}

// Runs in a signal handler, which another may interrupt in turn: a place is claimed in one step, and filled before
// whoever was interrupted goes on.
BlockId ThreadWriter::set_aside(Event event) {
  const std::uint32_t place = aside_count_.fetch_add(1, std::memory_order_relaxed);
  if (place >= kMostAside || has_text(event)) {
    if (place < kMostAside) aside_[place] = {};
    lose(1);
    return BlockId::kNone;
  }
  // A turn is taken when the event is added, so that turns rise in the thread.
  const Stamp stamp = stamp_of(event);
  event.takes_turn = stamp.takes_turn;
  event.turn = stamp.turn;
  event.result =
      event.allocates() ? block_id(at_.thread, aside_number_.fetch_add(1, std::memory_order_relaxed)) : BlockId::kNone;
  aside_[place] = event;
  return event.result;
}

void ThreadWriter::add_aside() {
  std::uint32_t added = 0;
  for (std::uint32_t count = aside_count_.load(std::memory_order_relaxed); count != 0;) {
    for (; added < std::min<std::uint32_t>(count, kMostAside); ++added) {
      const Event& event = aside_[added];
      if (event.operation == Operation::kNone) continue;
      Stamp stamp = {event.time, event.turn, event.takes_turn};
      if (stamp.takes_turn) stamp.turn = supply_.turns->fetch_add(1, std::memory_order_relaxed) + 1;
      add(event, stamp, event.result);
    }
    if (aside_count_.compare_exchange_strong(count, 0, std::memory_order_relaxed)) return;
  }
}

void ThreadWriter::add(const Event& event, Stamp stamp, BlockId result) {
  stamp.time = std::max(stamp.time, at_.time);
  stamp.turn = std::max(stamp.turn, at_.turn);
  const std::uint64_t usual = at_.number;
  if (result == BlockId::kNone || number_of(result) == usual) {
    put(event, stamp);
    at_.number = usual + (result == BlockId::kNone ? 0 : 1);  // even if there was no room
    return;
  }
  // To the numbers of blocks that came in a signal handler, and back.
  Event jump{.operation = Operation::kNumber};
  jump.values[0] = number_of(result);
  put(jump, {at_.time, at_.turn});
  put(event, stamp);
  jump.values[0] = usual;
  put(jump, {at_.time, at_.turn});
  at_.number = usual;
}

void ThreadWriter::put(const Event& event, const Stamp& stamp) {
  if (!make_room(event)) {
    lose(event.operation == Operation::kNumber ? 0 : 1);
    return;
  }
  const EncodedEvent encoded = encode(event, stamp, at_, supply_.chunk_flags, next_);
  std::atomic_ref(*next_).store(encoded.head, std::memory_order_release);
  next_ = encoded.end;
  ++header_.events;
}

bool ThreadWriter::make_room(const Event& event) {
  const std::size_t wanted = kMostEventBytes + (has_text(event) ? 2 * kMostTextBytes : 0);
  if (chunk_ != nullptr && static_cast<std::size_t>(limit_ - next_) < wanted) seal();
  if (chunk_ == nullptr && !open()) return false;
  // What is lost is told as soon as there is room, which a new chunk has.
  if (lost_.load(std::memory_order_relaxed) == 0) return true;
  const std::uint64_t lost = lost_.exchange(0, std::memory_order_relaxed);
  Event told{.operation = Operation::kLost};
  told.values[0] = lost;
  put(told, {at_.time, at_.turn});
  return make_room(event);
}

bool ThreadWriter::open() {
  const ChunkMemory memory = supply_.take(supply_.context);
  if (memory.begin == nullptr) return false;
  chunk_ = static_cast<std::uint8_t*>(memory.begin);
  next_ = chunk_ + sizeof(ChunkHeader);
  limit_ = chunk_ + memory.bytes;
  at_.foreign = 0;
  header_ = {.span = static_cast<std::uint32_t>(memory.bytes),
             .kind = ChunkKind::kEvents,
             .flags = supply_.chunk_flags,
             .thread = at_.thread,
             .serial = serial_++,
             .time = at_.time,
             .turn = at_.turn,
             .number = at_.number};
  open_chunk(chunk_, header_);
  return true;
}

void ThreadWriter::seal() {
  header_.stored_bytes = static_cast<std::uint32_t>(next_ - chunk_ - sizeof(ChunkHeader));
  header_.plain_bytes = header_.stored_bytes;
  header_.last_time = at_.time;
  header_.last_turn = at_.turn;
  seal_chunk(chunk_, header_);
  chunk_ = nullptr;
}

}  // namespace snug::trace
