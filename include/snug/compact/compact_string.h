// CompactString: characters in one block of a CompactHeap; an empty string has none. As for CompactVector: "Moves", the
// heap's life, and that a string may lie in a block itself. Not terminated by a 0.
#pragma once

#include "snug/base/cpp20.h"

#include <compare>
#include <cstddef>
#include <string_view>
#include <utility>

#include "snug/compact/compact_vector.h"

namespace snug {

class CompactString {
 public:
  explicit CompactString(CompactHeap& heap) noexcept : characters_(heap) {}
  CompactString(CompactHeap& heap, std::string_view text) : characters_(heap) {
    if (!text.empty()) characters_.append(text.data(), text.size());
  }

  std::size_t size() const noexcept { return characters_.size(); }
  bool empty() const noexcept { return characters_.empty(); }
  std::size_t capacity() const noexcept { return characters_.capacity(); }
  CompactHeap& heap() const noexcept { return characters_.heap(); }
  char& operator[](std::size_t index) noexcept { return characters_[index]; }
  char operator[](std::size_t index) const noexcept { return characters_[index]; }

  // The characters, valid until the next call that moves.
  std::string_view view() const noexcept { return {characters_.data(), characters_.size()}; }
  // The characters, valid while the section is open.
  std::string_view in(const Section& section) const noexcept {
    const auto characters = characters_.in(section);
    return {characters.data(), characters.size()};
  }

  // `text` may be a part of this string. Throw std::bad_alloc if there is no memory; then nothing has changed. Move.
  CompactString& operator=(std::string_view text) {
    CompactString made(characters_.heap(), text);
    characters_.swap(made.characters_);
    return *this;
  }
  void append(std::string_view text) {
    if (!text.empty()) characters_.append(text.data(), text.size());
  }
  void push_back(char character) { characters_.push_back(character); }
  void resize(std::size_t size, char character = '\0') { characters_.resize(size, character); }
  void reserve(std::size_t capacity) { characters_.reserve(capacity); }
  void shrink_to_fit() { characters_.shrink_to_fit(); }
  // Keeps the block.
  void clear() noexcept { characters_.clear(); }

  friend bool operator==(const CompactString& a, const CompactString& b) noexcept { return a.view() == b.view(); }
  friend bool operator==(const CompactString& a, std::string_view b) noexcept { return a.view() == b; }
  friend auto operator<=>(const CompactString& a, const CompactString& b) noexcept { return a.view() <=> b.view(); }
  friend auto operator<=>(const CompactString& a, std::string_view b) noexcept { return a.view() <=> b; }

 private:
  CompactVector<char> characters_;
};

template <>
inline constexpr bool kTriviallyRelocatable<CompactString> = true;

}  // namespace snug

template <>
struct std::hash<snug::CompactString> {
  std::size_t operator()(const snug::CompactString& text) const noexcept {
    return std::hash<std::string_view>()(text.view());
  }
};
