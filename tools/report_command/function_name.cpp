#include "report_command/function_name.h"

#include <array>
#include <string_view>

namespace snug::tool {

namespace {

constexpr std::array<std::string_view, 2> kCloneMarks = {" (.", " [clone ."};  // of llvm-symbolizer, of binutils
constexpr std::size_t kMostOfArguments = 12;  // characters of a template's that a bar shows
constexpr std::array<std::string_view, 4> kQualifiers = {" const", " volatile", " &", " &&"};

// Where the parenthesis opens that the last character closes; npos if none does.
std::size_t opening_of_last(std::string_view name) {
  std::size_t depth = 0;
  for (std::size_t at = name.size(); at-- != 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

std::string_view without_qualifiers(std::string_view name) {
  for (std::size_t before = 0; before != name.size();) {
    before = name.size();
    for (const std::string_view qualifier : kQualifiers)
      if (name.ends_with(qualifier)) name.remove_suffix(qualifier.size());
  }
  return name;
}

// A template's function has its result's type before its name. Spaces within brackets are none between the two, and
// what follows "operator" is the name.
std::string_view without_result(std::string_view name) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at != name.size() && (depth != 0 || !name.substr(at).starts_with("operator")); ++at) {
    if (name[at] == '(' || name[at] == '<' || name[at] == '{') ++depth;
    if (name[at] == ')' || name[at] == '>' || name[at] == '}') --depth;
    if (depth == 0 && name[at] == ' ') begin = at + 1;
  }
  return name.substr(begin);
}

}  // namespace

std::string without_clone(std::string function) {
  for (const std::string_view mark : kCloneMarks) {
    const std::size_t at = function.find(mark);
    if (at != std::string::npos) function.resize(at);
  }
  return function;
}

std::string short_name(const std::string& function) {
  const std::string whole = without_clone(function);
  const std::string_view name = without_qualifiers(whole);
  const std::size_t opening = name.ends_with(')') ? opening_of_last(name) : std::string_view::npos;
  // The parentheses of operator() are its name, and those of "(anonymous namespace)" no parameters.
  if (opening == std::string_view::npos || opening == 0) return whole;
  const std::string_view shorter = name.substr(0, opening);
  return shorter.ends_with("operator") ? whole : std::string(without_result(shorter));
}

std::string bar_name(const std::string& function) {
  const std::string name = short_name(function);
  std::string shorter;
  std::size_t copied = 0;  // of the name
  int depth = 0;
  std::size_t opening = 0;
  for (std::size_t at = 0; at != name.size(); ++at) {
    if (depth == 0 && std::string_view(name).substr(at).starts_with("operator")) break;
    if (name[at] == '<' && depth++ == 0) opening = at;
    if (name[at] != '>' || --depth != 0) continue;
    // What begins with a bracket is a name in itself, as Rust's "<T as Trait>" and JavaScript's "<anonymous>".
    const bool has_template = opening != 0 && name[opening - 1] != ':';
    if (!has_template || at - opening <= kMostOfArguments) continue;
    shorter.append(name, copied, opening - copied).append("<…>");
    copied = at + 1;
  }
  return shorter.append(name, copied);
}

}  // namespace snug::tool
