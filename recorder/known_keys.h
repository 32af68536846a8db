// KnownKeys: the keys of facts that this process has recorded already and need not record again. A fact of which the
// key is not found is recorded again, which only costs time: so a key may replace another one.
//
// A key that is found was recorded: the thread that finds it draws a ticket behind those of the fact. A child of a fork
// has its parent's table, and must not find keys that were recorded in another ring, so each stored key is mixed with
// the process's number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace snug::recorder {

template <std::size_t kSets>
class KnownKeys {
 public:
  bool contains(std::uint64_t key, std::uint32_t process) const {
    const std::uint64_t stored = stored_of(key, process);
    for (const auto& place : sets_[stored % kSets].places)
      if (place.load(std::memory_order_acquire) == stored) return true;
    return false;
  }

  // To be called after the fact was recorded.
  void add(std::uint64_t key, std::uint32_t process) {
    const std::uint64_t stored = stored_of(key, process);
    Set& set = sets_[stored % kSets];
    for (auto& place : set.places)
      if (std::uint64_t empty = 0; place.compare_exchange_strong(empty, stored, std::memory_order_release)) return;
    set.places[(stored / kSets) % kWays].store(stored, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kWays = 4;

  struct Set {
    std::atomic<std::uint64_t> places[kWays];
  };

  static std::uint64_t stored_of(std::uint64_t key, std::uint32_t process) {
    return key ^ process * std::uint64_t{0x9e3779b97f4a7c15};
  }

  Set sets_[kSets] = {};
};

}  // namespace snug::recorder
