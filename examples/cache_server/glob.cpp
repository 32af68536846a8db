#include "glob.h"

#include <cstddef>
#include <utility>

namespace cache_server {
namespace {

// A set without its end goes to the pattern's. `*at` is behind the bracket, and behind the set afterwards.
bool is_in_set(std::string_view pattern, std::size_t* at, char c) {
  const auto size = pattern.size();
  const bool is_negated = *at != size && pattern[*at] == '^';
  bool is_in = false;
  std::size_t i = *at + (is_negated ? 1 : 0);
  for (; i != size && pattern[i] != ']'; ++i) {
    if (pattern[i] == '\\' && i + 1 != size) {
      is_in = is_in || pattern[++i] == c;
    } else if (i + 2 < size && pattern[i + 1] == '-') {
      auto [least, most] = std::pair(pattern[i], pattern[i + 2]);
      if (least > most) std::swap(least, most);
      is_in = is_in || (least <= c && c <= most);
      i += 2;
    } else {
      is_in = is_in || pattern[i] == c;
    }
  }
  *at = i + (i != size ? 1 : 0);
  return is_in != is_negated;
}

// Whether the element at `*at`, which is no star, stands for the character. `*at` is behind it afterwards.
bool stands_for(std::string_view pattern, std::size_t* at, char c) {
  const char first = pattern[(*at)++];
  if (first == '?') return true;
  if (first == '[') return is_in_set(pattern, at, c);
  if (first == '\\' && *at != pattern.size()) return pattern[(*at)++] == c;
  return first == c;
}

}  // namespace

// A later star can take what an earlier one could: it is enough to try the last one again, with a character more.
bool matches(std::string_view pattern, std::string_view text) {
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t at = 0;
  std::size_t read = 0;
  std::size_t behind_star = kNone;
  std::size_t taken = 0;  // the star stands for the text up to here
  while (read != text.size()) {
    if (at != pattern.size() && pattern[at] == '*') {
      behind_star = ++at;
      taken = read;
    } else if (at != pattern.size() && stands_for(pattern, &at, text[read])) {
      ++read;
    } else if (behind_star != kNone) {
      at = behind_star;
      read = ++taken;
    } else {
      return false;
    }
  }
  while (at != pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace cache_server
