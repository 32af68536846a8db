// Replies in RESP, each added to the end of what is to be sent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace cache_server {

inline void add_line(std::string& to, char kind, std::string_view text) {
  to += kind;
  to += text;
  to += "\r\n";
}

inline void add_status(std::string& to, std::string_view text) { add_line(to, '+', text); }
// `text` begins with a word in capitals, as ERR. What a client has sent may be in it: an error is one line all the
// same, and no long one.
inline void add_error(std::string& to, std::string_view text) {
  constexpr std::size_t kLongest = 512;
  const std::size_t begin = to.size() + 1;
  add_line(to, '-', text.substr(0, kLongest));
  std::replace_if(
      to.begin() + static_cast<std::ptrdiff_t>(begin), to.end() - 2, [](char c) { return c == '\r' || c == '\n'; },
      ' ');
}
inline void add_number(std::string& to, long long number) { add_line(to, ':', std::to_string(number)); }
inline void add_null(std::string& to) { to += "$-1\r\n"; }
// Before so many replies, which are its elements.
inline void add_array(std::string& to, std::size_t count) { add_line(to, '*', std::to_string(count)); }
inline void add_bulk(std::string& to, std::string_view bytes) {
  add_line(to, '$', std::to_string(bytes.size()));
  to += bytes;
  to += "\r\n";
}

}  // namespace cache_server
