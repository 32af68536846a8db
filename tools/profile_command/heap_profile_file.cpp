#include "profile_command/heap_profile_file.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "library/elf_file.h"
#include "library/symbol_bias.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "trace_command/call_stacks.h"
#include "trace_command/symbols.h"

namespace snug::tool {

namespace {

// The fields of a message, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  // False at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = number();
    field = key >> 3;
    value = 0;
    bytes = {};
    switch (key & 7) {
      case 0:
        value = number();
        return true;
      case 1:
        bytes = take(8);
        return true;
      case 2:
        bytes = take(number());
        return true;
      case 5:
        bytes = take(4);
        return true;
      default:
        throw UserError("a field has no known type");
    }
  }
  bool at_end() const { return rest_.empty(); }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      number |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
    throw UserError("a number is too long");
  }

  std::uint64_t field = 0;
  std::uint64_t value = 0;
  std::string_view bytes;

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw UserError("it ends in the middle of a field");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

struct Mapping {
  std::uint64_t id = 0, start = 0, offset = 0, path = 0, build_id = 0;
};
struct Location {
  std::uint64_t mapping = 0, address = 0;
};
struct Sample {
  std::vector<std::uint64_t> locations, values;
};

void add_numbers(const Fields& fields, std::vector<std::uint64_t>& numbers) {
  if (fields.bytes.empty()) return numbers.push_back(fields.value);
  for (Fields packed(fields.bytes); !packed.at_end();) numbers.push_back(packed.number());
}

std::string bytes_of_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16));
  return bytes;
}

// The whole file, its stacks still by addresses.
class RawProfile {
 public:
  explicit RawProfile(std::string_view bytes) {
    if (bytes.size() >= 2 && bytes.substr(0, 2) == "\x1f\x8b") throw UserError("it is compressed: gunzip it first");
    std::vector<std::uint64_t> types;
    for (Fields fields(bytes); fields.next();) {
      if (fields.field == 1) types.push_back(take(fields.bytes, 1)[0]);
      if (fields.field == 2) take_sample(fields.bytes);
      if (fields.field == 3) take_mapping(fields.bytes);
      if (fields.field == 4) take_location(fields.bytes);
      if (fields.field == 6) texts_.emplace_back(fields.bytes);
      if (fields.field == 12) distance_ = fields.value;
    }
    find_values(types);
  }

  std::uint64_t distance() const { return distance_; }

  std::map<HeapProfileFile::Stack, HeapProfileFile::Amounts> named() const {
    CallStacks places;
    for (const auto& [id, mapping] : mappings_) {
      const std::string build_id = bytes_of_hex(text(mapping.build_id));
      const std::string path = text(mapping.path);
      trace::Event module;
      module.operation = trace::Operation::kModule;
      module.values[0] = id;
      module.texts = {build_id, path};
      places.add(module);
    }
    std::map<std::uint64_t, std::uint64_t> biases;
    for (const auto& [id, location] : locations_) {
      const auto mapping = mappings_.find(location.mapping);
      std::uint64_t address = location.address;
      if (mapping != mappings_.end()) {
        const std::uint64_t offset = address - mapping->second.start + mapping->second.offset;
        auto [bias, is_new] = biases.try_emplace(location.mapping, 0);
        if (is_new) bias->second = symbol_bias(text(mapping->second.path), offset);
        address = offset + bias->second;
      }
      trace::Event frame;
      frame.operation = trace::Operation::kFrame;
      frame.values = {id, 0, location.mapping, address};
      places.add(frame);
    }
    const Symbols symbols(places);
    std::map<HeapProfileFile::Stack, HeapProfileFile::Amounts> stacks;
    for (const Sample& sample : samples_) {
      HeapProfileFile::Stack stack;
      for (const std::uint64_t id : sample.locations) {
        const auto frame = places.frames().find(id);
        if (frame == places.frames().end()) throw UserError("a sample names a place that is not there");
        for (const Symbol& symbol : symbols.at(frame->second)) stack.push_back(symbol.function);
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

 private:
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
    locations_[numbers[0]] = {numbers[1], numbers[2]};
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

  std::vector<std::string> texts_;
  std::map<std::uint64_t, Mapping> mappings_;
  std::map<std::uint64_t, Location> locations_;
  std::vector<Sample> samples_;
  std::array<std::size_t, 6> values_ = {};
  std::uint64_t distance_ = 0;
};

}  // namespace

HeapProfileFile::HeapProfileFile(const std::string& path) {
  const FileBytes file(path);
  const auto bytes = file.all();
  try {
    const RawProfile raw({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    distance_ = raw.distance();
    stacks_ = raw.named();
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
