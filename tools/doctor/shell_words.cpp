#include "doctor/shell_words.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "doctor/shell_commands.h"

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::size_t name_length(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_name_letter) - text.begin());
}

// As dirname(1) and basename(1) have it, of what is no folder's name with a slash behind it.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<std::string> canonical(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  return error ? std::nullopt : std::optional(found.string());
}

// The length of the piece with a $ or a backquote that `text` begins with.
std::size_t piece_length(std::string_view text) {
  if (text.front() == '`') return std::min(text.find('`', 1), text.size() - 1) + 1;
  if (text.size() > 1 && (text[1] == '(' || text[1] == '{')) return std::min(closing_bracket(text, 1) + 1, text.size());
  const std::size_t name = name_length(text.substr(1));
  const bool is_position = name != 0 && text[1] >= '0' && text[1] <= '9';
  return is_position || name == 0 ? std::min<std::size_t>(2, text.size()) : name + 1;
}

}  // namespace

bool ShellWords::is_known(const std::string& name) const {
  const auto found = variables_.find(name);
  return knows_variables_ && (found == variables_.end() || found->second);
}

std::optional<std::string> ShellWords::variable(const std::string& name) const {
  if (!is_known(name)) return std::nullopt;
  const auto found = variables_.find(name);
  return found != variables_.end() ? found->second : environment_.get(name);
}

std::optional<std::string> ShellWords::parameter(std::string_view inside) const {
  const std::string name(inside.substr(0, name_length(inside)));
  const std::string_view rest = inside.substr(name.size());
  if (name.empty()) return std::nullopt;
  const bool is_script = name == "0";
  if (!is_script && (!is_known(name) || (name[0] >= '0' && name[0] <= '9'))) return std::nullopt;
  const std::optional<std::string> found = is_script ? script_ : variable(name);
  if (rest.empty()) return found.value_or("");
  if (rest.starts_with(":-")) return found && !found->empty() ? found : value(rest.substr(2));
  // These leave a word without a slash as it is.
  if (rest == "%/*")
    return found && found->find('/') != std::string::npos ? found->substr(0, found->rfind('/')) : found;
  if (rest == "##*/") return found ? std::optional(name_of(*found)) : found;
  return std::nullopt;
}

std::optional<std::string> ShellWords::substitution(std::string_view inside) const {
  const std::vector<ShellCommand> commands = shell_commands(inside);
  if (commands.empty() || commands.size() > 2) return std::nullopt;
  std::vector<std::string> words;
  for (const std::string& raw : commands.front().words) {
    const auto word = value(raw);
    if (!word) return std::nullopt;
    if (*word != "--") words.push_back(*word);
  }
  if (commands.size() == 2) {
    const std::vector<std::string>& second = commands.back().words;
    return words.size() == 2 && words[0] == "cd" && second.front() == "pwd" ? canonical(words[1]) : std::nullopt;
  }
  if (words.size() == 2 && words[0] == "dirname") return folder_of(words[1]);
  if (words.size() == 2 && words[0] == "basename") return name_of(words[1]);
  if (words.size() == 2 && words[0] == "realpath") return canonical(words[1]);
  if (words.size() == 3 && words[0] == "readlink" && words[1].starts_with("-")) return canonical(words[2]);
  if (words.size() == 2 && words[0] == "echo") return words[1];
  return std::nullopt;
}

std::optional<std::string> ShellWords::expanded(std::string_view piece) const {
  if (piece.front() == '`') return piece.size() < 2 ? std::nullopt : substitution(piece.substr(1, piece.size() - 2));
  if (piece.size() < 2) return std::nullopt;
  if (piece[1] == '{' && piece.back() == '}') return parameter(piece.substr(2, piece.size() - 3));
  if (piece[1] == '(' && piece.back() == ')') return substitution(piece.substr(2, piece.size() - 3));
  return parameter(piece.substr(1));
}

bool ShellWords::add_quoted(std::string_view quoted, std::string& word) const {
  for (std::size_t at = 0; at < quoted.size();) {
    if (quoted[at] == '\\' && at + 1 < quoted.size()) {
      if (std::string_view("$`\"\\").find(quoted[at + 1]) == std::string_view::npos) word += '\\';
      word += quoted[at + 1];
      at += 2;
    } else if (quoted[at] == '$' || quoted[at] == '`') {
      const std::size_t length = piece_length(quoted.substr(at));
      const auto piece = expanded(quoted.substr(at, length));
      if (!piece) return false;
      word += *piece;
      at += length;
    } else {
      word += quoted[at++];
    }
  }
  return true;
}

std::optional<std::string> ShellWords::value(std::string_view raw) const {
  std::string word;
  for (std::size_t at = 0; at < raw.size();) {
    const char letter = raw[at];
    if (letter == '\'') {
      const std::size_t end = std::min(raw.find('\'', at + 1), raw.size());
      word += raw.substr(at + 1, end - at - 1);
      at = end + 1;
    } else if (letter == '"') {
      std::size_t end = at + 1;
      while (end < raw.size() && raw[end] != '"')
        end += raw[end] == '\\' ? 2 : raw[end] == '$' || raw[end] == '`' ? piece_length(raw.substr(end)) : 1;
      end = std::min(end, raw.size());
      if (!add_quoted(raw.substr(at + 1, end - at - 1), word)) return std::nullopt;
      at = end + 1;
    } else if (letter == '\\') {
      if (at + 1 < raw.size()) word += raw[at + 1];
      at += 2;
    } else if (letter == '$' || letter == '`') {
      const std::size_t length = piece_length(raw.substr(at));
      const auto piece = expanded(raw.substr(at, length));
      // Without quotes it may become several words, or none.
      if (!piece || piece->empty() || piece->find_first_of(" \t\n*?[") != std::string::npos) return std::nullopt;
      word += *piece;
      at += length;
    } else if (std::string_view("*?[").find(letter) != std::string_view::npos) {
      return std::nullopt;
    } else if (letter == '~' && at == 0) {
      const auto home = variable("HOME");
      if (!home || (raw.size() > 1 && raw[1] != '/')) return std::nullopt;
      word += *home;
      ++at;
    } else {
      word += letter;
      ++at;
    }
  }
  return word;
}

}  // namespace snug::tool
