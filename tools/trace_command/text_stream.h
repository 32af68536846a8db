// TextStream: a text that a command reads, a file or standard input ("-"), decompressed where it begins as a frame of
// zstd, as heaptrack's files do. Used by one thread.
#pragma once

#include <fstream>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

namespace snug::tool {

class TextStream {
 public:
  // Throws UserError if the file cannot be read, or is compressed by gzip.
  explicit TextStream(const std::string& path);
  ~TextStream();
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  // bad() when what is compressed cannot be read.
  std::istream& text() { return *text_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::ifstream file_;
  std::unique_ptr<std::streambuf> plain_;
  std::unique_ptr<std::istream> text_;
};

}  // namespace snug::tool
