#include "inspect_command/address_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <stdexcept>

#include "print/quantity.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostFrames = 64;

std::uint64_t parse_hex(const std::string& text, bool& is_good) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  is_good = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (!is_good) return 0;
  const auto [stopped, error] = std::from_chars(text.data() + 2, end, number, 16);
  is_good = error == std::errc() && stopped == end;
  return number;
}

const std::string& look_up(const std::map<std::string, std::string>& words, const std::string& word) {
  const auto found = words.find(word);
  if (found == words.end()) throw std::invalid_argument(word);
  return found->second;
}

// A block's state, as a sentence goes on.
std::string state_words(const std::string& state, std::uint64_t cached_by) {
  static const std::map<std::string, std::string> kWords = {
      {"live", "live"},
      {"free", "free"},
      {"never_used", "free, never handed out"},
      {"cached", "free, in a thread's cache"},
      {"on_its_way", "free, by another thread than its heap's: its heap takes it home when it looks"},
      {"quarantined", "freed, in the quarantine of check:on"},
      {"no_block", ""},
  };
  if (state == "cached" && cached_by != 0) return fmt::format("free, in the cache of thread {}", cached_by);
  return look_up(kWords, state);
}

std::string mapping_words(const Json& mapping) {
  if (mapping.is_null()) return "nothing is mapped there";
  const auto name = mapping.get<std::string>();
  return name.empty() ? "memory without a name" : name;
}

}  // namespace

std::uint64_t address_in(const std::string& word) {
  bool is_good = false;
  const std::uint64_t address = parse_hex(word, is_good);
  if (!is_good) throw UserError(fmt::format("'{}' is no address: write it as 0x7f2a41c04010", printable(word)));
  // User space ends at 2^56 at most, whatever the processor; the kernel's addresses have the topmost bit.
  constexpr unsigned kMostBits = 56;
  if (address >> 63 != 0)
    throw UserError(fmt::format("{:#x} is an address of the kernel's, not of a program", address));
  if (address >> kMostBits != 0) throw UserError(fmt::format("{:#x} is beyond what a program can have", address));
  return address;
}

AddressAnswer::AddressAnswer(const std::string& answer, pid_t pid, std::uint64_t address) : address_(address) {
  // A hostile process may nest without end.
  constexpr int kDeepest = 2;
  json_ = Json::parse(answer, [](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) throw std::invalid_argument("too deep");
    return true;
  });
  json_["pid"] = pid;
  json_["mapping"] = nullptr;
  json_["functions"] = Json::array();
  if (has("stack"))
    for (const Json& frame : json_.at("stack")) {
      bool is_good = false;
      stack_.push_back(parse_hex(frame.get<std::string>(), is_good));
      if (!is_good || stack_.size() > kMostFrames) throw std::invalid_argument("stack");
    }
  text();  // throws where a member is missing, or of another type
}

void AddressAnswer::name(const MappedCode& code) {
  const auto mapping = code.mapping_at(address_);
  if (mapping) json_["mapping"] = printable(*mapping);
  for (const std::uint64_t frame : stack_)
    for (const Symbol& symbol : code.functions_at(frame))
      json_["functions"].push_back(
          {{"function", printable(symbol.function)}, {"file", printable(symbol.file)}, {"line", symbol.line}});
}

std::string AddressAnswer::word(const char* name) const { return printable(json_.at(name).get<std::string>()); }
std::uint64_t AddressAnswer::number(const char* name) const { return json_.at(name).get<std::uint64_t>(); }

std::string AddressAnswer::text() const { return fmt::format("{:#x}: {}\n", address_, head() + place() + history()); }

// What it is, as the rest of the first line.
std::string AddressAnswer::head() const {
  static const std::map<std::string, std::string> kOthers = {
      {"records", "a record of snug's own"},
      {"other_heap", "memory of a compacting heap"},
      {"guard", "on or between guarded pages, outside of a block"},
      {"rest", "the rest of a slab, behind its last block"},
  };
  const std::string what = word("what");
  if (what == "none") return "not in snug's heap: " + mapping_words(json_.at("mapping"));
  if (what == "free_memory")
    return word("state") == "kept" ? "free memory, which the heap keeps" : "free memory, which the kernel has back";
  if (what != "block") return look_up(kOthers, what);
  bool is_good = false;
  const std::uint64_t start = parse_hex(word("start"), is_good);
  if (!is_good || start > address_) throw std::invalid_argument("start");
  const std::uint64_t offset = address_ - start;
  const std::string name = word("of") == "malloc" ? "malloc" : fmt::format("the heap '{}'", word("heap_name"));
  const std::string block =
      fmt::format("block of {}: {}; {} bytes", name,
                  state_words(word("state"), has("cached_by") ? number("cached_by") : 0), number("size"));
  return offset == 0 ? block : fmt::format("byte {} of a {} from {:#x} on", offset, block, start);
}

// Where it lies.
std::string AddressAnswer::place() const {
  static const std::map<std::string, std::string> kPlaces = {
      {"slab", "slab"},
      {"page_for_samples", "pages for samples"},
      {"pages", "in pages of its own"},
      {"mapping", "in a mapping of its own"},
      {"large", "a large block"},
      {"guarded_page", "on a guarded page (check:sample)"},
  };
  if (!has("in")) return "";
  std::string text = "\n  " + look_up(kPlaces, word("in"));
  if (has("slab"))
    text += fmt::format(" {} of {}: {} blocks, {} of them not free in it", word("slab"),
                        value_text(static_cast<double>(number("slab_bytes")), kBytes), number("slab_blocks"),
                        number("slab_used"));
  if (!has("heap")) return text;
  if (word("heap_of") == "all") return text + "; of the heap that all threads share";
  const auto threads = json_.at("threads").get<std::vector<std::uint64_t>>();
  return text + fmt::format("; of heap {}, {}", number("heap"),
                            threads.empty()       ? "of which no thread is known"
                            : threads.size() == 1 ? fmt::format("which thread {} has", threads[0])
                                                  : fmt::format("which threads {} have", fmt::join(threads, ", ")));
}

// What allocated it, if that is known.
std::string AddressAnswer::history() const {
  if (!has("stack")) return "";
  std::string text = "\n  allocated";
  if (has("requested")) text += fmt::format(" as {} bytes", number("requested"));
  if (number("allocated_by") != 0) text += fmt::format(" by thread {}", number("allocated_by"));
  if (has("age_ms"))
    text += fmt::format(", {} ago", value_text(static_cast<double>(number("age_ms")) / 1000, kSeconds));
  for (const Json& symbol : json_.at("functions")) {
    text += "\n    " + symbol.at("function").get<std::string>();
    const auto file = symbol.at("file").get<std::string>();
    if (!file.empty()) text += fmt::format(" ({}:{})", file, symbol.at("line").get<std::int64_t>());
  }
  return text;
}

}  // namespace snug::tool
