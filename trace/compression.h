// Payloads of chunks by zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct ZSTD_CCtx_s;

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

// Whether the bytes are one frame of exactly as many bytes as `plain` has room for, which it is then.
bool decompress(std::span<const std::uint8_t> stored, std::span<std::uint8_t> plain);

}  // namespace snug::trace
