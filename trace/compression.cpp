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

Decompressor::Decompressor() : context_(nullptr, ZSTD_freeDCtx) {}
Decompressor::~Decompressor() = default;

bool Decompressor::decompress(std::span<const std::uint8_t> stored, std::size_t count,
                              std::vector<std::uint8_t>& plain) {
  // One frame alone: ZSTD_decompress would take several, one behind the other.
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) return false;
  const unsigned long long said = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (said != ZSTD_CONTENTSIZE_UNKNOWN && said != count) return false;
  if (context_ == nullptr) context_.reset(ZSTD_createDCtx());
  if (context_ == nullptr) return false;
  plain.resize(count);
  const std::size_t got = ZSTD_decompressDCtx(context_.get(), plain.data(), count, stored.data(), stored.size());
  return ZSTD_isError(got) == 0 && got == count;
}

}  // namespace snug::trace
