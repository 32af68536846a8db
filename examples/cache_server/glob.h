// Patterns of keys, as Redis has them: * is any text, ? any character, [a-cx] one of a set, [^a-c] one that is in none,
// and a backslash takes its meaning from what follows.
#pragma once

#include <string_view>

namespace cache_server {

// O(length of the pattern * length of the text).
bool matches(std::string_view pattern, std::string_view text);

}  // namespace cache_server
