#include "request_reader.h"

#include <algorithm>
#include <cstring>

#include "number.h"

namespace cache_server {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{16} << 10;
constexpr std::size_t kKept = std::size_t{64} << 10;  // of each buffer, between requests
constexpr std::size_t kLongestLine = std::size_t{64} << 10;

template <class T>
std::size_t bytes_of(const std::vector<T>& buffer) {
  return buffer.capacity() * sizeof(T);
}

// What it has more than is worth keeping goes.
template <class T>
void let_go(std::vector<T>& buffer) {
  buffer.clear();
  if (bytes_of(buffer) > kKept) std::vector<T>().swap(buffer);
}

}  // namespace

std::size_t RequestReader::held_bytes() const {
  std::size_t bytes = bytes_of(buffer_) + bytes_of(places_) + bytes_of(words_) + bytes_of(line_);
  for (const std::string& word : line_) bytes += word.capacity();
  return bytes;
}

std::span<char> RequestReader::room() {
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    for (Place& place : places_) place.offset -= begin_;
    at_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  // Twice as much when it is full, so that each byte is copied a few times at most; for a word that is most of the
  // request no more than it has, with the end of its line.
  if (end_ == buffer_.size() || buffer_.size() < kReadAtOnce) {
    std::size_t wanted = std::max(end_ + kReadAtOnce, 2 * end_);
    if (word_length_ != kUnknown && word_length_ >= end_ / 2 && at_ + word_length_ + 2 > end_)
      wanted = std::min(wanted, at_ + word_length_ + 2 + kReadAtOnce);
    buffer_.reserve(wanted);
    buffer_.resize(wanted);
  }
  return {buffer_.data() + end_, buffer_.size() - end_};
}

RequestReader::Found RequestReader::next() {
  if (!error_.empty()) return Found::kError;
  if (is_whole_) end_request();
  while (words_left_ == 0) {
    if (!begin_request()) return stopped();
    if (is_whole_) return Found::kRequest;  // it was a line
  }
  for (; words_left_ != 0; --words_left_)
    if (!read_word()) return stopped();
  for (const Place& place : places_) words_.emplace_back(buffer_.data() + place.offset, place.length);
  is_whole_ = true;
  return Found::kRequest;
}

// What has come behind it is kept, in a buffer of its own if the request's was large and is mostly empty now.
void RequestReader::end_request() {
  is_whole_ = false;
  let_go(words_);
  let_go(places_);
  let_go(line_);
  begin_ = at_;
  if (buffer_.size() <= kKept || end_ - begin_ > kKept / 2) return;
  buffer_ = std::vector<char>(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                              buffer_.begin() + static_cast<std::ptrdiff_t>(end_));
  end_ -= begin_;
  at_ = begin_ = 0;
}

// False if there is nothing whole yet, or an error. A request without words is passed over.
bool RequestReader::begin_request() {
  begin_ = at_;
  if (at_ == end_) return false;
  if (buffer_[at_] != '*') return read_line();
  std::string_view digits;
  if (!take_header('*', "too big mbulk count string", &digits)) return false;
  long long count = 0;
  if (!read_number(digits, &count) || count > static_cast<long long>(limits_.words)) {
    fail("invalid multibulk length");
    return false;
  }
  words_left_ = count > 0 ? static_cast<std::size_t>(count) : 0;
  return true;
}

bool RequestReader::read_word() {
  if (word_length_ == kUnknown) {
    if (at_ != end_ && buffer_[at_] != '$') {
      fail(std::string("expected '$', got '") + buffer_[at_] + "'");
      return false;
    }
    std::string_view digits;
    if (!take_header('$', "too big bulk count string", &digits)) return false;
    long long length = 0;
    if (!read_number(digits, &length) || length < 0 || length > static_cast<long long>(limits_.word_bytes)) {
      fail("invalid bulk length");
      return false;
    }
    if (at_ - begin_ + static_cast<std::size_t>(length) > request_limit()) {
      fail("too big request");
      return false;
    }
    word_length_ = static_cast<std::size_t>(length);
  }
  if (end_ - at_ < word_length_ + 2) return false;
  places_.push_back({at_, word_length_});
  at_ += word_length_ + 2;
  word_length_ = kUnknown;
  return true;
}

// The number behind the kind's sign, if the whole line is there.
bool RequestReader::take_header(char kind, const char* too_long, std::string_view* digits) {
  const std::string_view rest(buffer_.data() + at_, end_ - at_);
  const std::size_t length = rest.find('\r');
  if (length == rest.npos && rest.size() > kLongestLine) {
    fail(too_long);
    return false;
  }
  if (length == rest.npos || length + 2 > rest.size() || rest[0] != kind) return false;
  *digits = rest.substr(1, length - 1);
  at_ += length + 2;
  return true;
}

bool RequestReader::read_line() {
  const std::string_view rest(buffer_.data() + at_, end_ - at_);
  const std::size_t length = rest.find('\n');
  if (length == rest.npos) {
    if (rest.size() > kLongestLine) fail("too big inline request");
    return false;
  }
  at_ += length + 1;
  std::string_view line = rest.substr(0, length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!split_line(line, &line_)) {
    fail("unbalanced quotes in request");
    return false;
  }
  words_.assign(line_.begin(), line_.end());
  is_whole_ = !words_.empty();
  return true;
}

RequestReader::Found RequestReader::fail(std::string reason) {
  error_ = "Protocol error: " + std::move(reason);
  return Found::kError;
}

}  // namespace cache_server
