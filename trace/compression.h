// Payloads of chunks by zstd.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace snug::trace {

// Empty if the bytes do not become fewer.
std::vector<std::uint8_t> compressed(std::span<const std::uint8_t> plain, int level);

// Whether the bytes are one frame of exactly as many bytes as `plain` has room for, which it is then.
bool decompress(std::span<const std::uint8_t> stored, std::span<std::uint8_t> plain);

}  // namespace snug::trace
