// Payloads of chunks by zstd. Each thread keeps a context of zstd's for either way, from its first payload to its end:
// to ask for one anew, and to touch it, takes as long as to compress a chunk, and a recorder that has a file of each of
// many processes would hold 1.3 MB for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace snug::trace {

// Empty if the bytes do not become fewer. Lives until the thread's next call.
std::span<const std::uint8_t> compress(std::span<const std::uint8_t> plain, int level);

// Whether the bytes are one frame of exactly `count` bytes, which `plain` holds then. A frame that says another length
// of itself is refused before there is room for it.
bool decompress(std::span<const std::uint8_t> stored, std::size_t count, std::vector<std::uint8_t>& plain);

}  // namespace snug::trace
