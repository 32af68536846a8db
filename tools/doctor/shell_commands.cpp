#include "doctor/shell_commands.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

namespace snug::tool {

namespace {

using Joint = ShellCommand::Joint;

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kEndsWord = " \t\r\n;&|()<>";
// Behind these a command begins that lies in a block; behind `for` and `case` stand words of their own.
constexpr std::array<std::string_view, 4> kOpening = {"if", "while", "until", "{"};
constexpr std::array<std::string_view, 3> kOpeningWithWords = {"for", "case", "select"};
constexpr std::array<std::string_view, 5> kWithin = {"then", "else", "elif", "do", "!"};
constexpr std::array<std::string_view, 4> kClosing = {"fi", "done", "esac", "}"};

template <std::size_t Count>
bool is_among(const std::array<std::string_view, Count>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Behind the quote, bracket or character that begins at `at`.
std::size_t behind_piece(std::string_view text, std::size_t at) {
  const auto behind = [&](std::size_t found) { return found == std::string_view::npos ? text.size() : found + 1; };
  switch (text[at]) {
    case '\\':
      return std::min(at + 2, text.size());
    case '\'':
    case '`':
      return behind(text.find(text[at], at + 1));
    case '"':
      for (++at; at < text.size() && text[at] != '"';) at = behind_piece(text, at);
      return std::min(at + 1, text.size());
    case '$':
      if (at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{')) {
        const std::size_t close = closing_bracket(text, at + 1);
        return std::min(close + 1, text.size());
      }
      return at + 1;
    default:
      return at + 1;
  }
}

class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : text_(text) {}

  std::vector<ShellCommand> read() {
    while (at_ < text_.size()) read_piece();
    end_command(Joint::kNone);
    return std::move(commands_);
  }

 private:
  bool is_next(std::string_view piece) const { return text_.substr(at_).starts_with(piece); }

  void read_piece() {
    const char letter = text_[at_];
    if (kBlanks.find(letter) != std::string_view::npos) {
      ++at_;
    } else if (is_next("\\\n")) {
      at_ += 2;
    } else if (letter == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (letter == '\n') {
      ++at_;
      end_command(Joint::kNone);
      skip_here_documents();
    } else if (letter == '<' || letter == '>' || is_next("&>")) {
      skip_redirection();
    } else if (std::string_view(";&|()").find(letter) != std::string_view::npos) {
      read_operator(letter);
    } else {
      read_word();
    }
  }

  void read_operator(char letter) {
    const bool is_double = at_ + 1 < text_.size() && text_[at_ + 1] == letter && letter != '(' && letter != ')';
    at_ += is_double ? 2 : 1;
    if (letter == '&') {
      end_command(is_double ? Joint::kAnd : Joint::kBackground);
    } else if (letter == '|') {
      end_command(is_double ? Joint::kOr : Joint::kPipe);
    } else {
      end_command(Joint::kNone);
      if (letter == '(') blocks_.push_back(letter);
      // A bracket that nothing has opened ends a pattern of `case`.
      if (letter == ')' && !blocks_.empty() && blocks_.back() == '(') blocks_.pop_back();
    }
  }

  std::string raw_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && kEndsWord.find(text_[at_]) == std::string_view::npos) at_ = behind_piece(text_, at_);
    return std::string(text_.substr(begin, at_ - begin));
  }

  void read_word() {
    std::string word = raw_word();
    // Of a descriptor, as in 2>&1.
    const bool is_descriptor = std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_descriptor && at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>')) return;
    if (current_.words.empty() && take_keyword(word)) return;
    if (word == "{" && current_.words.front() == "function") {
      end_command(Joint::kNone);
      take_keyword(word);
      return;
    }
    if (current_.words.empty()) current_.depth = blocks_.size();
    current_.words.push_back(std::move(word));
  }

  bool take_keyword(const std::string& word) {
    if (is_among(kClosing, word)) {
      if (!blocks_.empty()) blocks_.pop_back();
      return true;
    }
    const bool is_opening = is_among(kOpening, word);
    if (is_opening || is_among(kOpeningWithWords, word)) blocks_.push_back(word.front());
    return is_opening || is_among(kWithin, word);
  }

  void skip_redirection() {
    if (is_next("<<") && !is_next("<<<")) {
      at_ += 2;
      if (is_next("-")) ++at_;
      skip_blanks();
      std::string end = raw_word();
      std::erase_if(end, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
      here_documents_.push_back(std::move(end));
      return;
    }
    while (at_ < text_.size() && std::string_view("<>&|").find(text_[at_]) != std::string_view::npos) ++at_;
    if (is_next("(")) {  // of a process: its commands are none that the script becomes
      at_ = std::min(closing_bracket(text_, at_) + 1, text_.size());
      return;
    }
    skip_blanks();
    raw_word();
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  void skip_here_documents() {
    for (; !here_documents_.empty(); here_documents_.pop_front()) {
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        at_ = std::min(end + 1, text_.size());
        if (line == here_documents_.front()) break;
      }
    }
  }

  void end_command(Joint joint) {
    if (current_.words.empty()) {
      if (joint == Joint::kNone) current_.before = Joint::kNone;
      return;
    }
    current_.after = joint;
    commands_.push_back(std::exchange(current_, ShellCommand()));
    current_.before = joint;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string blocks_;  // the first letter of what opened each
  std::deque<std::string> here_documents_;
  ShellCommand current_;
  std::vector<ShellCommand> commands_;
};

}  // namespace

std::size_t closing_bracket(std::string_view text, std::size_t at) {
  const char open = text[at];
  const char close = open == '(' ? ')' : '}';
  std::size_t depth = 0;
  while (at < text.size()) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at;
    at = text[at] == '$' ? at + 1 : behind_piece(text, at);
  }
  return text.size();
}

std::vector<ShellCommand> shell_commands(std::string_view text) { return ShellReader(text).read(); }

}  // namespace snug::tool
