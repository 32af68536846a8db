// A one-to-one hash: each bit of the result depends on each bit of the number. Keys are made of it.
#pragma once

#include <cstdint>

namespace snug::recorder {

constexpr std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ number >> 32) * 0xd6e8feb86659fd93;
  number = (number ^ number >> 32) * 0xd6e8feb86659fd93;
  return number ^ number >> 32;
}

}  // namespace snug::recorder
