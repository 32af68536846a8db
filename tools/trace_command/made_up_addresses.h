// MadeUpAddresses: where mappings lie, told without telling where they lay. A mapping gets an address of its own when
// it comes; what happens to a part of it, or to the whole, is told within that one:
//
//   made up - made up of its mapping's begin == address - its mapping's begin
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace snug::tool {

class MadeUpAddresses {
 public:
  // Of a mapping that comes, maybe over a part of another.
  std::uint64_t map(std::uint64_t address, std::uint64_t bytes) {
    const auto found = containing(address);
    if (found != mappings_.end() && found->second.bytes - (address - found->first) >= bytes)
      return within(*found, address);
    mappings_[address] = {bytes, next_};
    // No two mappings become neighbours by chance.
    next_ += (bytes / kPage + 2) * kPage;
    return mappings_[address].begin;
  }

  // Of a mapping that is there; of none that was told of, if it was there before.
  std::uint64_t find(std::uint64_t address, std::uint64_t bytes) {
    const auto found = containing(address);
    return found == mappings_.end() ? map(address, bytes) : within(*found, address);
  }

  // It goes; the whole of it is forgotten, so that another may come there.
  std::uint64_t unmap(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t told = find(address, bytes);
    const auto found = mappings_.find(address);
    if (found != mappings_.end() && found->second.bytes <= bytes) mappings_.erase(found);
    return told;
  }

  // The break moves within one stretch.
  std::uint64_t move_break(std::uint64_t address) {
    if (!first_break_) first_break_ = address;
    return kBreak + (address - *first_break_);
  }

 private:
  struct Mapping {
    std::uint64_t bytes;
    std::uint64_t begin;  // made up
  };
  using Mappings = std::map<std::uint64_t, Mapping>;

  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kBreak = std::uint64_t{1} << 44;
  static constexpr std::uint64_t kMappings = std::uint64_t{1} << 46;

  Mappings::iterator containing(std::uint64_t address) {
    auto after = mappings_.upper_bound(address);
    if (after == mappings_.begin()) return mappings_.end();
    --after;
    return address - after->first < after->second.bytes ? after : mappings_.end();
  }
  static std::uint64_t within(const Mappings::value_type& mapping, std::uint64_t address) {
    return mapping.second.begin + (address - mapping.first);
  }

  Mappings mappings_;
  std::uint64_t next_ = kMappings;
  std::optional<std::uint64_t> first_break_;
};

}  // namespace snug::tool
