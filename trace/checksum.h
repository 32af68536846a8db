// CRC-32C (Castagnoli): polynomial 0x1EDC6F41, reflected, begun with and ended by all ones; that of "123456789" is
// 0xE3069283. It finds every change within 32 neighbouring bits, so every flipped byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::trace {

// `before`: the checksum of what stands before these bytes, so that a text may be summed in pieces; 0 at the start.
std::uint32_t crc32c(const void* bytes, std::size_t count, std::uint32_t before = 0);

}  // namespace snug::trace
