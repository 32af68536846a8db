// Payloads of chunks by zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace snug::trace {

// Keeps what zstd needs from one payload to the next: to ask for it anew, and to touch it, takes about as long as to
// compress a chunk. Used by one thread.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Empty if the bytes do not become fewer. Lives until the next call.
  std::span<const std::uint8_t> compress(std::span<const std::uint8_t> plain, int level);

 private:
  std::unique_ptr<ZSTD_CCtx_s, std::size_t (*)(ZSTD_CCtx_s*)> context_;
  std::vector<std::uint8_t> stored_;
};

// Likewise the other way. Used by one thread.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Whether the bytes are one frame of exactly `count` bytes, which `plain` holds then. A frame that says another
  // length of itself is refused before there is room for it.
  bool decompress(std::span<const std::uint8_t> stored, std::size_t count, std::vector<std::uint8_t>& plain);

 private:
  std::unique_ptr<ZSTD_DCtx_s, std::size_t (*)(ZSTD_DCtx_s*)> context_;
};

}  // namespace snug::trace
