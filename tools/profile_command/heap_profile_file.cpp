#include "profile_command/heap_profile_file.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "library/elf_file.h"
#include "library/symbol_bias.h"
#include "profile_command/protobuf_fields.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "trace_command/call_stacks.h"
#include "trace_command/perf_map.h"
#include "trace_command/protobuf.h"
#include "trace_command/symbols.h"

namespace snug::tool {

namespace {

// Numbers of fields, message by message.
namespace profile_field {
enum : std::uint32_t { kType = 1, kSample, kMapping, kLocation, kFunction, kText, kTime = 9, kDuration, kPeriod = 12 };
}
namespace mapping_field {
enum : std::uint32_t { kId = 1, kStart, kOffset = 4, kPath, kBuildId, kHasFunctions, kHasFiles, kHasLines };
}
namespace location_field {
enum : std::uint32_t { kId = 1, kMapping, kAddress, kLine };
}
namespace line_field {
enum : std::uint32_t { kFunction = 1, kLine };
}
namespace function_field {
enum : std::uint32_t { kId = 1, kName, kFile = 4 };
}

struct Mapping {
  std::uint64_t id = 0, start = 0, offset = 0, path = 0, build_id = 0;
};
struct Location {
  std::uint64_t mapping = 0, address = 0;
  std::vector<std::vector<std::uint64_t>> lines = {};  // that the file has: of each its function and number
  std::vector<Symbol> names = {};                      // innermost first; never empty once they were looked up
  bool has_names = false;                              // in the file
};
struct Function {
  std::uint64_t name = 0, file = 0;
};
struct Sample {
  std::vector<std::uint64_t> locations, values;
};

// Bytes of all stacks, written out: a byte of a file that means ill may name thousands of functions. The longest
// profile that snug writes, 75,000 stacks of 64 calls, takes half of it.
constexpr std::uint64_t kMostOfStacks = std::uint64_t{1} << 30;

// A packed row may be empty: a stack of which nothing is known has no calls.
void add_numbers(const Fields& fields, std::vector<std::uint64_t>& numbers) {
  if (!fields.is_bytes) return numbers.push_back(fields.value);
  for (Fields packed(fields.bytes); !packed.at_end();) numbers.push_back(packed.number());
}

std::string bytes_of_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16));
  return bytes;
}

// The whole file.
class RawProfile {
 public:
  explicit RawProfile(std::string_view bytes) : bytes_(bytes) {
    if (bytes.size() >= 2 && bytes.substr(0, 2) == "\x1f\x8b") throw UserError("it is compressed: gunzip it first");
    std::vector<std::uint64_t> types;
    for (Fields fields(bytes); fields.next();) {
      if (fields.field == profile_field::kType) types.push_back(take(fields.bytes, 1)[0]);
      if (fields.field == profile_field::kSample) take_sample(fields.bytes);
      if (fields.field == profile_field::kMapping) take_mapping(fields.bytes);
      if (fields.field == profile_field::kLocation) take_location(fields.bytes);
      if (fields.field == profile_field::kFunction) take_function(fields.bytes);
      if (fields.field == profile_field::kText) texts_.emplace_back(fields.bytes);
      if (fields.field == profile_field::kTime) started_ = fields.value;
      if (fields.field == profile_field::kDuration) duration_ = fields.value;
      if (fields.field == profile_field::kPeriod) distance_ = fields.value;
    }
    find_values(types);
    take_names();
  }

  std::uint64_t distance() const { return distance_; }

  // Of the locations for which the file has no names, by the files of their code.
  void look_up_names(std::uint64_t process) {
    CallStacks places;
    for (const auto& [id, mapping] : mappings_) {
      const std::string build_id = bytes_of_hex(text(mapping.build_id));
      const std::string path = text(mapping.path);
      if (path.empty()) continue;
      trace::Event module;
      module.operation = trace::Operation::kModule;
      module.values[0] = id;
      module.texts = {build_id, path};
      places.add(module);
    }
    std::map<std::uint64_t, std::uint64_t> biases;
    for (const auto& [id, location] : locations_) {
      if (!location.names.empty()) continue;
      const auto mapping = mappings_.find(location.mapping);
      const bool is_of_file = mapping != mappings_.end() && !text(mapping->second.path).empty();
      std::uint64_t address = location.address;
      if (is_of_file) {
        const std::uint64_t offset = address - mapping->second.start + mapping->second.offset;
        auto [bias, is_new] = biases.try_emplace(location.mapping, 0);
        if (is_new) bias->second = symbol_bias(text(mapping->second.path), offset);
        address = offset + bias->second;
      }
      trace::Event frame;
      frame.operation = trace::Operation::kFrame;
      frame.values = {id, 0, is_of_file ? location.mapping : 0, address};
      places.add(frame);
    }
    const Symbols symbols(places, process == 0 ? PerfMap() : PerfMap(process, started_, started_ + duration_));
    for (const auto& [id, frame] : places.frames())
      if (const auto location = locations_.find(id); location != locations_.end())
        location->second.names = symbols.at(frame);
  }

  std::map<HeapProfileFile::Stack, HeapProfileFile::Amounts> stacks() const {
    std::map<HeapProfileFile::Stack, HeapProfileFile::Amounts> stacks;
    std::uint64_t room = kMostOfStacks;
    for (const Sample& sample : samples_) {
      HeapProfileFile::Stack stack;
      for (const std::uint64_t id : sample.locations) {
        const auto location = locations_.find(id);
        if (location == locations_.end()) throw UserError("a sample names a place that is not there");
        for (const Symbol& symbol : location->second.names) {
          const std::uint64_t bytes = sizeof symbol.function + symbol.function.size();
          if (bytes > room) throw UserError("its stacks have more functions than can be");
          room -= bytes;
          stack.push_back(symbol.function);
        }
      }
      HeapProfileFile::Amounts& amounts = stacks[stack];
      for (std::size_t i = 0; i != values_.size(); ++i) {
        if (values_[i] >= sample.values.size()) continue;
        const auto value = static_cast<double>(static_cast<std::int64_t>(sample.values[values_[i]]));
        (i % 2 == 0 ? amounts[i / 2].blocks : amounts[i / 2].bytes) += value;
      }
    }
    return stacks;
  }

  // The same bytes, but that names are added to the locations that had none: fields may come in any order, and the
  // parts of a message one behind the other. A mapping says that it has names, files or lines if all its locations do:
  // of others pprof looks them up.
  std::string with_names() const {
    NewTexts added(texts_.size(), functions_.empty() ? 0 : functions_.rbegin()->first);
    const std::map<std::uint64_t, Facts> facts = this->facts();
    ProtobufMessage whole;
    Fields fields(bytes_);
    for (std::string_view before = bytes_; fields.next(); before = fields.rest()) {
      const std::string_view field = before.substr(0, before.size() - fields.rest().size());
      if (fields.field == profile_field::kMapping)
        whole.add(profile_field::kMapping, with_facts(fields.bytes, facts));
      else if (fields.field == profile_field::kLocation)
        whole.add(profile_field::kLocation, with_names(fields.bytes, added));
      else
        whole.add_field(field);
    }
    return whole.bytes() + added.bytes();
  }

 private:
  // Functions and texts that the file has not.
  class NewTexts {
   public:
    NewTexts(std::uint64_t texts, std::uint64_t functions) : texts_(texts), functions_(functions) {}

    // Without a mangled name: where it is the same, pprof takes the other for mangled too, and cuts it.
    std::uint64_t function(const Symbol& symbol) {
      const auto [known, is_new] = function_numbers_.try_emplace({symbol.function, symbol.file}, functions_ + 1);
      if (!is_new) return known->second;
      ProtobufMessage message;
      message.add(function_field::kId, ++functions_);
      message.add(function_field::kName, text(symbol.function));
      message.add(function_field::kFile, text(symbol.file));
      message_.add(profile_field::kFunction, message.bytes());
      return functions_;
    }
    const std::string& bytes() const { return message_.bytes(); }

   private:
    std::uint64_t text(const std::string& text) {
      if (text.empty()) return 0;
      const auto [known, is_new] = text_numbers_.try_emplace(text, texts_);
      if (is_new) {
        message_.add(profile_field::kText, printable(text));
        ++texts_;
      }
      return known->second;
    }

    std::uint64_t texts_;      // numbers begin at 0
    std::uint64_t functions_;  // the highest number
    std::map<std::pair<std::string, std::string>, std::uint64_t> function_numbers_;
    std::map<std::string, std::uint64_t> text_numbers_;
    ProtobufMessage message_;
  };

  std::string with_names(std::string_view bytes, NewTexts& added) const {
    const auto numbers = take(bytes, location_field::kLine);
    ProtobufMessage message;
    message.add_field(bytes);
    const Location& location = locations_.at(numbers[location_field::kId - 1]);
    if (location.has_names) return message.bytes();
    for (const Symbol& symbol : location.names) {
      if (symbol.is_place) continue;
      ProtobufMessage line;
      line.add(line_field::kFunction, added.function(symbol));
      line.add(line_field::kLine, static_cast<std::uint64_t>(symbol.line));
      message.add(location_field::kLine, line.bytes());
    }
    return message.bytes();
  }

  // Of a mapping with locations.
  struct Facts {
    bool all_named = true, all_files = true, all_lines = true;
  };

  std::map<std::uint64_t, Facts> facts() const {
    std::map<std::uint64_t, Facts> all;
    for (const auto& [number, location] : locations_) {
      Facts& its = all[location.mapping];
      for (const Symbol& symbol : location.names) {
        its.all_named = its.all_named && !symbol.is_place;
        its.all_files = its.all_files && !symbol.file.empty();
        its.all_lines = its.all_lines && symbol.line > 0;
      }
    }
    return all;
  }

  static std::string with_facts(std::string_view bytes, const std::map<std::uint64_t, Facts>& facts) {
    ProtobufMessage message;
    message.add_field(bytes);
    const auto its = facts.find(take(bytes, mapping_field::kId)[0]);
    if (its != facts.end() && its->second.all_named) {
      message.add(mapping_field::kHasFunctions, 1);
      if (its->second.all_files) message.add(mapping_field::kHasFiles, 1);
      if (its->second.all_lines) message.add(mapping_field::kHasLines, 1);
    }
    return message.bytes();
  }

  // The numbers of the fields 1 to `most`.
  static std::vector<std::uint64_t> take(std::string_view bytes, std::size_t most) {
    std::vector<std::uint64_t> numbers(most);
    for (Fields fields(bytes); fields.next();)
      if (fields.field >= 1 && fields.field <= most) numbers[fields.field - 1] = fields.value;
    return numbers;
  }
  void take_sample(std::string_view bytes) {
    Sample& sample = samples_.emplace_back();
    for (Fields fields(bytes); fields.next();) {
      if (fields.field == 1) add_numbers(fields, sample.locations);
      if (fields.field == 2) add_numbers(fields, sample.values);
    }
  }
  void take_mapping(std::string_view bytes) {
    const auto numbers = take(bytes, 6);
    mappings_[numbers[0]] = {numbers[0], numbers[1], numbers[3], numbers[4], numbers[5]};
  }
  void take_location(std::string_view bytes) {
    const auto numbers = take(bytes, 3);
    Location& location = locations_[numbers[0]] = {.mapping = numbers[1], .address = numbers[2]};
    for (Fields fields(bytes); fields.next();)
      if (fields.field == location_field::kLine) location.lines.push_back(take(fields.bytes, 2));
  }
  void take_function(std::string_view bytes) {
    const auto numbers = take(bytes, function_field::kFile);
    functions_[numbers[0]] = {numbers[1], numbers[3]};
  }
  // Functions may come behind the locations that name them.
  void take_names() {
    for (auto& [id, location] : locations_)
      for (const auto& line : location.lines) {
        const auto function = functions_.find(line[0]);
        if (function == functions_.end()) throw UserError("a place names a function that is not there");
        location.names.push_back({.function = text(function->second.name),
                                  .file = text(function->second.file),
                                  .line = static_cast<std::int64_t>(line[1])});
        location.has_names = true;
      }
  }
  std::string text(std::uint64_t number) const {
    if (number >= texts_.size()) throw UserError("it names a text that is not there");
    return texts_[number];
  }
  // Where in a sample the six values are that are asked for; one that is not there stays 0.
  void find_values(const std::vector<std::uint64_t>& types) {
    constexpr const char* kNames[] = {"alloc_objects", "alloc_space",  "inuse_objects",
                                      "inuse_space",   "peak_objects", "peak_space"};
    values_.fill(~std::size_t{0});
    bool is_heap = false;
    for (std::size_t i = 0; i != types.size(); ++i)
      for (std::size_t value = 0; value != values_.size(); ++value)
        if (text(types[i]) == kNames[value]) {
          values_[value] = i;
          is_heap = true;
        }
    if (!is_heap) throw UserError("it is no heap profile of pprof's");
  }

  std::string_view bytes_;
  std::vector<std::string> texts_;
  std::map<std::uint64_t, Function> functions_;
  std::map<std::uint64_t, Mapping> mappings_;
  std::map<std::uint64_t, Location> locations_;
  std::vector<Sample> samples_;
  std::array<std::size_t, 6> values_ = {};
  std::uint64_t started_ = 0;
  std::uint64_t duration_ = 0;
  std::uint64_t distance_ = 0;
};

}  // namespace

HeapProfileFile::HeapProfileFile(const std::string& path, std::uint64_t process) {
  const FileBytes file(path);
  const auto bytes = file.all();
  try {
    RawProfile raw({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    raw.look_up_names(process);
    distance_ = raw.distance();
    stacks_ = raw.stacks();
    with_names_ = raw.with_names();
  } catch (const UserError& error) {
    throw UserError(fmt::format("cannot read the profile '{}': {}", printable(path), error.what()));
  }
}

void HeapProfileFile::subtract(const HeapProfileFile& before) {
  for (const auto& [stack, amounts] : before.stacks_)
    for (std::size_t i = 0; i != amounts.size(); ++i) {
      stacks_[stack][i].blocks -= amounts[i].blocks;
      stacks_[stack][i].bytes -= amounts[i].bytes;
    }
}

}  // namespace snug::tool
