#include "trace/compression.h"

#include <zstd.h>

namespace snug::trace {

Compressor::Compressor() : context_(nullptr, ZSTD_freeCCtx) {}
Compressor::~Compressor() = default;

std::span<const std::uint8_t> Compressor::compress(std::span<const std::uint8_t> plain, int level) {
  if (context_ == nullptr) context_.reset(ZSTD_createCCtx());
  const std::size_t bound = ZSTD_compressBound(plain.size());
  if (stored_.size() < bound) stored_.resize(bound);
  const std::size_t count =
      ZSTD_compressCCtx(context_.get(), stored_.data(), stored_.size(), plain.data(), plain.size(), level);
  if (ZSTD_isError(count) != 0 || count >= plain.size()) return {};
  return {stored_.data(), count};
}

bool decompress(std::span<const std::uint8_t> stored, std::span<std::uint8_t> plain) {
  // One frame alone: ZSTD_decompress would take several, one behind the other.
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) return false;
  const std::size_t count = ZSTD_decompress(plain.data(), plain.size(), stored.data(), stored.size());
  return ZSTD_isError(count) == 0 && count == plain.size();
}

}  // namespace snug::trace
