#include "trace_command/mtrace_log.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <vector>

#include "trace_command/hexadecimal.h"

namespace snug::tool {

namespace {

// The words behind the last of the five signs that stands alone: a path may have spaces.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = line.find(' ');
    if (end != 0) words.push_back(line.substr(0, end));
    line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
  }
  for (std::size_t i = words.size(); i-- > 1;)
    if (words[i].size() == 1 && std::string_view("+-<>!").find(words[i].front()) != std::string_view::npos)
      return {words.begin() + static_cast<std::ptrdiff_t>(i), words.end()};
  return {};
}

}  // namespace

void read_mtrace_log(NumberedLines& lines, ImportedBlocks& blocks) {
  std::optional<std::uint64_t> halved;  // the address of a realloc; its other half is yet to come
  bool is_log = false;
  while (lines.next()) {
    const std::string_view line = lines.line();
    is_log = is_log || line.starts_with("= ") || line.starts_with("@ ");
    if (!line.starts_with("@ ")) continue;
    const std::vector<std::string_view> words = words_of(line);
    const char sign = words.empty() ? ' ' : words[0].front();
    const bool has_size = sign == '+' || sign == '>' || sign == '!';
    if (words.size() != (has_size ? 3u : 2u))
      throw lines.fault("no event of mtrace: a sign, an address, mostly a size");
    if (halved.has_value() != (sign == '>')) throw lines.fault("the two halves of a realloc do not stand together");
    const std::uint64_t address = hexadecimal(words[1], lines);
    const std::uint64_t bytes = has_size ? hexadecimal(words[2], lines) : 0;
    if (sign == '+') blocks.allocate(address, bytes);
    if (sign == '-') blocks.free(address);
    if (sign == '!') blocks.refuse_reallocation(address, bytes);
    if (sign == '>') blocks.reallocate(*halved, address, bytes);
    halved = sign == '<' ? std::optional(address) : std::nullopt;
  }
  if (!is_log) throw lines.fault_of_text("no log of mtrace: none of its lines begins with \"= \" or \"@ \"");
  if (halved) blocks.free(*halved);
}

}  // namespace snug::tool
