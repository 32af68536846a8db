#include "trace/compression.h"

#include <zstd.h>

#include <memory>

namespace snug::trace {

namespace {

template <typename Context>
using Held = std::unique_ptr<Context, std::size_t (*)(Context*)>;

}  // namespace

std::span<const std::uint8_t> compress(std::span<const std::uint8_t> plain, int level) {
  thread_local const Held<ZSTD_CCtx> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  thread_local std::vector<std::uint8_t> stored;
  if (context == nullptr) return {};
  const std::size_t bound = ZSTD_compressBound(plain.size());
  if (stored.size() < bound) stored.resize(bound);
  const std::size_t count =
      ZSTD_compressCCtx(context.get(), stored.data(), stored.size(), plain.data(), plain.size(), level);
  if (ZSTD_isError(count) != 0 || count >= plain.size()) return {};
  return {stored.data(), count};
}

bool decompress(std::span<const std::uint8_t> stored, std::size_t count, std::vector<std::uint8_t>& plain) {
  // Exactly one frame: ZSTD_decompress would accept several.
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) return false;
  const unsigned long long said = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (said != ZSTD_CONTENTSIZE_UNKNOWN && said != count) return false;
  thread_local const Held<ZSTD_DCtx> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) return false;
  plain.resize(count);
  const std::size_t got = ZSTD_decompressDCtx(context.get(), plain.data(), count, stored.data(), stored.size());
  return ZSTD_isError(got) == 0 && got == count;
}

}  // namespace snug::trace
