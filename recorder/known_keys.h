// KnownKeys: which of the things that need be told only once this process has told. One that is not found here is told
// again, which costs time and nothing else: so a key may push another one out.
//
// Found means told: whoever finds a key draws a ticket behind those of its telling. A child of a fork has its parent's
// table, and must not find what was told in another ring, so that what is stored is the key with the process's number
// in it.
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

  // Once it has been told.
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
