// The words of a request that is a line.
#include "request_reader.h"

namespace cache_server {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f' || c == '\0'; }

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char meaning_of(char escaped) {
  switch (escaped) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return escaped;
  }
}

// What a backslash at the front of `rest` and the characters behind it mean; they are taken away.
char take_escape(std::string_view* rest) {
  if (rest->size() >= 4 && (*rest)[1] == 'x' && digit_of((*rest)[2]) >= 0 && digit_of((*rest)[3]) >= 0) {
    const char meant = static_cast<char>(digit_of((*rest)[2]) * 16 + digit_of((*rest)[3]));
    rest->remove_prefix(4);
    return meant;
  }
  const char meant = meaning_of((*rest)[1]);
  rest->remove_prefix(2);
  return meant;
}

// A part in quotes, which end a word. False if they are not closed, or the word goes on.
bool take_quoted(std::string_view* rest, std::string* word) {
  const char quote = rest->front();
  rest->remove_prefix(1);
  while (!rest->empty() && rest->front() != quote) {
    const bool is_escape = rest->front() == '\\' && rest->size() >= 2;
    if (is_escape && quote == '"') {
      word->push_back(take_escape(rest));
      continue;
    }
    if (is_escape && (*rest)[1] == '\'') rest->remove_prefix(1);
    word->push_back(rest->front());
    rest->remove_prefix(1);
  }
  if (rest->empty()) return false;
  rest->remove_prefix(1);
  return rest->empty() || is_blank(rest->front());
}

}  // namespace

bool split_line(std::string_view line, std::vector<std::string>* words) {
  for (;;) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty()) return true;
    std::string& word = words->emplace_back();
    while (!line.empty() && !is_blank(line.front())) {
      if (line.front() == '"' || line.front() == '\'') {
        if (!take_quoted(&line, &word)) return false;
        break;
      }
      word.push_back(line.front());
      line.remove_prefix(1);
    }
  }
}

}  // namespace cache_server
