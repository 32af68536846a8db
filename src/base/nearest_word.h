// NearestWord: finds, among the words offered to it, the one nearest to a mistyped word, if any is near. Allocates
// nothing, as it is used while the heap starts.
//
// The distance is the least number of letters to insert, delete, replace, or swap with the next. A word is near if its
// distance is at most one, plus one for each four letters; or if it is longer and begins with the whole mistyped word.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace snug {

class NearestWord {
 public:
  static constexpr size_t kLongest = 32;  // a longer word is near none

  NearestWord(const char* word, size_t length) : word_(word), length_(length) {}

  // Of two words at the same distance the first is found. `other` must outlive this object.
  void offer(const char* other) {
    const size_t away = distance(other, strlen(other));
    if (away >= least_) return;
    least_ = away;
    found_ = other;
  }

  // Null if no offered word is near.
  const char* found() const { return found_; }

 private:
  static constexpr size_t kShortestBeginning = 3;

  size_t distance(const char* other, size_t other_length) const {
    if (length_ == 0 || length_ > kLongest || other_length > kLongest) return least_;
    if (length_ >= kShortestBeginning && other_length > length_ && memcmp(word_, other, length_) == 0) return 1;
    // rows[i % 3][j]: from the first i letters of the word to the first j of the other.
    uint8_t rows[3][kLongest + 1];
    for (size_t j = 0; j <= other_length; ++j) rows[0][j] = static_cast<uint8_t>(j);
    for (size_t i = 1; i <= length_; ++i) {
      uint8_t* const row = rows[i % 3];
      const uint8_t* const before = rows[(i - 1) % 3];
      row[0] = static_cast<uint8_t>(i);
      for (size_t j = 1; j <= other_length; ++j) {
        const bool is_same = word_[i - 1] == other[j - 1];
        size_t steps = before[j - 1] + (is_same ? 0u : 1u);
        if (steps > before[j] + 1u) steps = before[j] + 1u;
        if (steps > row[j - 1] + 1u) steps = row[j - 1] + 1u;
        const bool is_swapped = i > 1 && j > 1 && word_[i - 1] == other[j - 2] && word_[i - 2] == other[j - 1];
        if (is_swapped && steps > rows[(i - 2) % 3][j - 2] + 1u) steps = rows[(i - 2) % 3][j - 2] + 1u;
        row[j] = static_cast<uint8_t>(steps);
      }
    }
    return rows[length_ % 3][other_length];
  }

  const char* word_;
  size_t length_;
  size_t least_ = length_ / 4 + 2;  // a word at a smaller distance is near
  const char* found_ = nullptr;
};

}  // namespace snug
