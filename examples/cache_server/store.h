// Store: keys and values in a compacting heap. Both are strings of any bytes; a value may have a moment at which it is
// gone.
//
//   expiring_ == values that have such a moment;  no value's lies before earliest_
//
// A value that is asked for after its moment is gone for the caller. The others are swept, a part of the map at a time:
//
//   [ seen in this round | not seen yet ]      no moment of a value that was seen lies before later_, nor that of one
//     0                  swept_                that was set meanwhile, wherever it is: the next round's earliest_
//
// The heap's options say whether it compacts. Nothing here knows: blocks are reached through the map alone, and what
// get() returns is good until the next call that changes something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "snug/compact_heap.h"

namespace cache_server {

// Milliseconds since 1970.
using Moment = std::int64_t;
inline constexpr Moment kNever = 0;

struct Value {
  Value(snug::CompactHeap& heap, std::string_view from, Moment gone) : text(heap, from), gone_at(gone) {}

  snug::CompactString text;
  Moment gone_at;
};

}  // namespace cache_server

// A string may be moved by its bytes, and so may what holds one.
template <>
inline constexpr bool snug::kTriviallyRelocatable<cache_server::Value> = true;

namespace cache_server {

class Store {
 public:
  // Throws std::bad_alloc if there is no memory.
  explicit Store(const snug::CompactHeapOptions& options) : heap_(options), values_(heap_) {}

  // Null if there is no such key.
  const Value* get(std::string_view key, Moment now);
  // Throws std::bad_alloc if there is no memory; then nothing has changed.
  void set(std::string_view key, std::string_view text, Moment gone_at = kNever);
  // False if there was no such key.
  bool erase(std::string_view key, Moment now);
  void clear() noexcept;
  // Erases what is gone in the next part of the map, if anything is: O(kSweptAtOnce), whatever the size.
  void sweep(Moment now);
  static constexpr std::size_t kSweptAtOnce = 4096;  // buckets, of which there are one or two for a value

  // Goes through the keys a part at a time while they change: visit(std::string_view) for those in `buckets` buckets
  // from the cursor on. Returns the cursor to go on with; 0 is the beginning, and the end. A key that stays all the
  // while is visited at least once.
  template <class Visit>
  std::uint64_t scan(std::uint64_t cursor, std::size_t buckets, Moment now, Visit visit) {
    return values_.scan(cursor, buckets, [&](const snug::CompactString& key, const Value& value) {
      if (!is_gone(value, now)) visit(key.view());
    });
  }

  // Those that are gone and were not swept yet are counted.
  std::size_t size() const noexcept { return values_.size(); }
  std::size_t expiring() const noexcept { return expiring_; }

  // Moves everything together, whatever the options say.
  void compact() noexcept { heap_.compact(); }
  snug_compact_stats stats() const noexcept { return heap_.stats(); }
  // Null, or what is wrong. O(size).
  const char* check() const;

 private:
  static bool is_gone(const Value& value, Moment now) { return value.gone_at != kNever && value.gone_at <= now; }
  void forget_moment(const Value& value) noexcept { expiring_ -= value.gone_at != kNever; }

  snug::CompactHeap heap_;
  snug::CompactMap<snug::CompactString, Value> values_;
  std::size_t expiring_ = 0;
  Moment earliest_ = kNever;
  std::size_t swept_ = 0;  // buckets in this round
  Moment later_ = kNever;  // kNever: there is none yet
};

}  // namespace cache_server
