#include "size/map_reader.h"

namespace snug {
namespace {

constexpr const char* kNoNumbers = "expected two numbers, bytes of a block and blocks cached, or a comment after #";
constexpr const char* kNoCached = "the blocks cached are missing behind the size";
constexpr const char* kMore = "something stands behind the two numbers";

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Stays at a value beyond every limit instead of overflowing to one within.
uint64_t append(uint64_t number, char digit) {
  return number > UINT32_MAX ? number : number * 10 + static_cast<uint64_t>(digit - '0');
}

}  // namespace

bool MapReader::read(const char* bytes, size_t count) {
  for (size_t i = 0; i < count && fault_ == nullptr; ++i) {
    if (++length_ > kLongestFile) fault_ = "the file is longer than 64 KiB";
    if (fault_ == nullptr) take(bytes[i]);
  }
  return fault_ == nullptr;
}

bool MapReader::finish() {
  if (fault_ == nullptr) end_line();
  if (fault_ == nullptr) fault_ = classes_.fault_of_end();
  return fault_ == nullptr;
}

void MapReader::take(char c) {
  if (c == '\n') {
    end_line();
    if (fault_ == nullptr) ++line_;
  } else if (place_ == Place::kComment) {
    return;
  } else if (c == '#') {
    if (place_ == Place::kSize || place_ == Place::kAfterSize)
      fault_ = kNoCached;
    else
      place_ = Place::kComment;
  } else if (is_digit(c)) {
    take_digit(c);
  } else if (!is_blank(c)) {
    fault_ = place_ == Place::kAfterCached ? kMore : kNoNumbers;
  } else if (place_ == Place::kSize) {
    place_ = Place::kAfterSize;
  } else if (place_ == Place::kCached) {
    place_ = Place::kAfterCached;
  }
}

void MapReader::take_digit(char c) {
  switch (place_) {
    case Place::kLineStart:
      place_ = Place::kSize;
      [[fallthrough]];
    case Place::kSize:
      size_ = append(size_, c);
      break;
    case Place::kAfterSize:
      place_ = Place::kCached;
      has_class_ = true;
      [[fallthrough]];
    case Place::kCached:
      cached_ = append(cached_, c);
      break;
    default:
      fault_ = kMore;
  }
}

void MapReader::end_line() {
  if (place_ == Place::kSize || place_ == Place::kAfterSize) {
    fault_ = kNoCached;
    return;
  }
  if (has_class_) {
    fault_ = classes_.fault_of(size_, cached_);
    if (fault_ != nullptr) return;
    classes_.add(static_cast<size_t>(size_), static_cast<size_t>(cached_));
  }
  place_ = Place::kLineStart;
  size_ = 0;
  cached_ = 0;
  has_class_ = false;
}

}  // namespace snug
