// Compresses payloads of chunks by zstd. Each thread keeps one zstd context for compression and one for decompression,
// from its first payload to its end: allocating and touching a new one takes as long as compressing a chunk, and one
// for each of many processes' files would cost a recorder 1.3 MB each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace snug::trace {

// Empty if the bytes do not become fewer. The result is valid until the thread's next call.
std::span<const std::uint8_t> compress(std::span<const std::uint8_t> plain, int level);

// True if the bytes are one frame of exactly `count` bytes, which `plain` holds then. A frame that declares another
// length is refused before memory is allocated for it.
bool decompress(std::span<const std::uint8_t> stored, std::size_t count, std::vector<std::uint8_t>& plain);

}  // namespace snug::trace
