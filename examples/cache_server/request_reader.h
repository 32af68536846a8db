// RequestReader: what a client sends, cut into requests. It reads RESP, the protocol of Redis:
//
//   *2\r\n$3\r\nGET\r\n$1\r\nk\r\n        two words, each with its length
//   GET k\r\n                            the same as a line: words between blanks, in quotes where they hold blanks
//
//   buffer_   [ dealt with | words of the request | not looked at | room ]
//             0          begin_                  at_             end_   size()
//
// It goes on where it stopped when more comes, so that a large value is looked at once. It never holds more than
// `limits` allow, and gives back what a large request took as soon as that is done with. It says what is wrong in the
// words of Redis.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cache_server {

struct RequestLimits {
  std::size_t word_bytes = std::size_t{64} << 20;
  std::size_t words = std::size_t{1} << 20;
};

class RequestReader {
 public:
  enum class Found { kRequest, kNothing, kError };

  explicit RequestReader(const RequestLimits& limits = {}) : limits_(limits) {}

  // Where the next bytes may be put, and how many of them have been. After next() has found nothing.
  std::span<char> room();
  void add(std::size_t bytes) { end_ += bytes; }

  // A request: words() has it, up to the next call. An error: error() says what; nothing more is found.
  Found next();
  std::span<const std::string_view> words() const { return words_; }
  std::string_view error() const { return error_; }

  // What it takes by now, whatever is in it.
  std::size_t held_bytes() const;

 private:
  struct Place {
    std::size_t offset, length;
  };
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);

  void end_request();
  bool begin_request();
  bool read_word();
  bool read_line();
  bool take_header(char kind, const char* too_long, std::string_view* digits);
  Found fail(std::string reason);
  Found stopped() const { return error_.empty() ? Found::kNothing : Found::kError; }
  std::size_t request_limit() const { return limits_.word_bytes + (std::size_t{1} << 20); }

  RequestLimits limits_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, at_ = 0, end_ = 0;
  std::size_t words_left_ = 0;          // of the request that is being read
  std::size_t word_length_ = kUnknown;  // of the word that is being read, if its header has come
  bool is_whole_ = false;               // the words are a request that next() has found
  std::vector<Place> places_;           // in the buffer, of the words that have come
  std::vector<std::string> line_;       // of a request that is a line
  std::vector<std::string_view> words_;
  std::string error_;
};

// The words of a line, as a shell would see them: "in \x22 quotes\n" or 'in plain ones'. False if a quote is not
// closed, or something follows one.
bool split_line(std::string_view line, std::vector<std::string>* words);

}  // namespace cache_server
