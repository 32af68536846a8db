// TraceAccount: sums up the events of a trace, in its order, and checks that they are possible:
//
//   live blocks == allocated + found - freed,   each identity is allocated once and freed once
//
// An impossible event is reported, and skipped. It holds the live blocks. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "trace/event.h"

namespace snug::trace {

// A seeded hash, as a file could otherwise name blocks with identities that all fall into one bucket.
class BlockHash {
 public:
  BlockHash();
  std::size_t operator()(BlockId block) const {
    std::uint64_t mixed = (static_cast<std::uint64_t>(block) ^ seed_) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }

 private:
  std::uint64_t seed_;
};
using LiveBlocks = std::unordered_map<BlockId, std::uint64_t, BlockHash>;

class TraceAccount {
 public:
  // Called for each impossible event, with the reason.
  using Listener = std::function<void(const Event& event, const std::string& what)>;

  TraceAccount() = default;
  explicit TraceAccount(Listener listener) : listener_(std::move(listener)) {}

  void add(const Event& event);

  std::uint64_t events() const { return events_; }
  std::uint64_t count_of(Operation operation) const { return counts_[static_cast<std::size_t>(operation)]; }
  std::uint64_t bytes_of(Operation operation) const { return bytes_[static_cast<std::size_t>(operation)]; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t turns() const { return turns_; }  // that were taken
  std::uint64_t freed_by_others() const { return freed_by_others_; }
  std::uint64_t last_time() const { return last_.time; }
  std::size_t threads() const { return threads_.size(); }

  std::size_t live_blocks() const { return live_.size(); }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::size_t peak_blocks() const { return peak_blocks_; }  // at that moment
  std::uint64_t peak_time() const { return peak_time_; }
  std::uint64_t faults() const { return faults_; }
  // The requested bytes of each live block.
  const LiveBlocks& live() const { return live_; }

 private:
  void come(const Event& event, BlockId block);
  void go(const Event& event);
  void look_at(const Event& event);
  void tell(const Event& event, const std::string& what);

  Listener listener_;
  std::array<std::uint64_t, kOperations> counts_ = {};
  std::array<std::uint64_t, kOperations> bytes_ = {};  // asked for and got, or told at a free
  LiveBlocks live_;
  std::unordered_set<std::uint32_t> threads_;
  Place last_ = {};
  std::uint32_t last_thread_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t freed_by_others_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::size_t peak_blocks_ = 0;
  std::uint64_t peak_time_ = 0;
  std::uint64_t faults_ = 0;
};

}  // namespace snug::trace
