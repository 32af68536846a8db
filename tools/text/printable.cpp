#include "text/printable.h"

#include <algorithm>
#include <cstddef>

namespace snug::tool {

namespace {

unsigned char byte_at(const std::string& text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Bytes of the character that begins at `at`; 0 if none does.
std::size_t character_length(const std::string& text, std::size_t at) {
  const unsigned char first = byte_at(text, at);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte_at(text, at + i) & 0xc0) != 0x80) return 0;
  // Longer than need be, half of a UTF-16 pair, or beyond the last character.
  const unsigned char second = byte_at(text, at + 1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

bool is_shown(const std::string& character) {
  const unsigned char first = byte_at(character, 0);
  if (character.size() == 1) return first >= ' ' && first != 0x7f;
  if (first == 0xc2) return byte_at(character, 1) >= 0xa0;            // below are control characters, too
  return character != "\xef\xbf\xbe" && character != "\xef\xbf\xbf";  // no characters, and no XML
}

}  // namespace

std::string printable(const std::string& text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    const std::string character = text.substr(at, length);
    shown += length != 0 && is_shown(character) ? character : "?";
    at += std::max<std::size_t>(length, 1);
  }
  return shown;
}

}  // namespace snug::tool
