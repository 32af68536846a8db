#include "trace_command/text_stream.h"

#include <fmt/format.h>
#include <zstd.h>

#include <iostream>
#include <stdexcept>
#include <vector>

#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr int kZstdBegin = 0x28;
constexpr int kGzipBegin = 0x1f;

class ZstdText final : public std::streambuf {
 public:
  explicit ZstdText(std::istream& stored)
      : stored_(stored), context_(ZSTD_createDCtx()), in_(ZSTD_DStreamInSize()), out_(ZSTD_DStreamOutSize()) {}
  ~ZstdText() override { ZSTD_freeDCtx(context_); }
  ZstdText(const ZstdText&) = delete;
  ZstdText& operator=(const ZstdText&) = delete;

 private:
  // What is thrown here sets the stream bad.
  int_type underflow() override {
    for (;;) {
      ZSTD_outBuffer plain = {out_.data(), out_.size(), 0};
      if (next_.pos == next_.size) {
        stored_.read(in_.data(), static_cast<std::streamsize>(in_.size()));
        next_ = {in_.data(), static_cast<std::size_t>(stored_.gcount()), 0};
        if (next_.size == 0) {
          if (frame_left_ != 0) throw std::runtime_error("the frame has no end");
          return traits_type::eof();
        }
      }
      frame_left_ = ZSTD_decompressStream(context_, &plain, &next_);
      if (ZSTD_isError(frame_left_) != 0) throw std::runtime_error(ZSTD_getErrorName(frame_left_));
      if (plain.pos == 0) continue;
      setg(out_.data(), out_.data(), out_.data() + plain.pos);
      return traits_type::to_int_type(out_[0]);
    }
  }

  std::istream& stored_;
  ZSTD_DCtx* context_;
  std::vector<char> in_;
  std::vector<char> out_;
  ZSTD_inBuffer next_ = {};
  std::size_t frame_left_ = 0;
};

}  // namespace

TextStream::TextStream(const std::string& path) : name_(path == "-" ? "standard input" : path) {
  std::istream* stored = &std::cin;
  if (path != "-") {
    file_.open(path, std::ios::binary);
    if (!file_) throw UserError(fmt::format("'{}' cannot be read", path));
    stored = &file_;
  }
  const int first = stored->peek();
  if (first == kGzipBegin)
    throw UserError(fmt::format("{}: compressed by gzip; pass it through: zcat FILE | … -", name_));
  if (first == kZstdBegin) plain_ = std::make_unique<ZstdText>(*stored);
  stored->clear(stored->rdstate() & ~(std::ios::eofbit | std::ios::failbit));
  text_ = std::make_unique<std::istream>(plain_ != nullptr ? plain_.get() : stored->rdbuf());
}

TextStream::~TextStream() = default;

}  // namespace snug::tool
