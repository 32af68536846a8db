#include "trace/compression.h"

#include <zstd.h>

namespace snug::trace {

std::vector<std::uint8_t> compressed(std::span<const std::uint8_t> plain, int level) {
  std::vector<std::uint8_t> stored(ZSTD_compressBound(plain.size()));
  const std::size_t count = ZSTD_compress(stored.data(), stored.size(), plain.data(), plain.size(), level);
  stored.resize(ZSTD_isError(count) != 0 || count >= plain.size() ? 0 : count);
  return stored;
}

bool decompress(std::span<const std::uint8_t> stored, std::span<std::uint8_t> plain) {
  // One frame alone: ZSTD_decompress would take several, one behind the other.
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) return false;
  const std::size_t count = ZSTD_decompress(plain.data(), plain.size(), stored.data(), stored.size());
  return ZSTD_isError(count) == 0 && count == plain.size();
}

}  // namespace snug::trace
