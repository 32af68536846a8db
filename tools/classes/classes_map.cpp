#include "classes/classes_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "size/map_reader.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::size_t kFewestParameters = 6;  // the seventh may be left out
constexpr std::size_t kMostParameters = 7;

ClassesMap map_of_parameters(const std::string& name, const SizeClassParameters& parameters) {
  ClassesMap map{.name = name, .parameters = parameters, .rows = {}, .largest_class = parameters.largest_class()};
  for (std::size_t c = 0; c < parameters.num_classes(); ++c) map.rows.push_back(parameters.row(c));
  return map;
}

bool looks_like_parameters(const std::string& text) {
  return text.find_first_not_of("0123456789, ") == std::string::npos;
}

SizeClassParameters parse_parameters(const std::string& text) {
  std::array<std::size_t, kMostParameters> values{0, 0, 0, 0, 0, 0, 1};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more; ++count) {
    if (count == kMostParameters) throw UserError(fmt::format("'{}': a map has at most 7 parameters", text));
    const auto [behind, error] = std::from_chars(at, end, values[count]);
    if (error != std::errc() || (behind != end && *behind != ',') || values[count] > SizeClassParameters::kMostCached)
      throw UserError(fmt::format("'{}': parameter {} is no number within bounds", text, count + 1));
    more = behind != end;
    at = behind + 1;
  }
  if (count < kFewestParameters) {
    throw UserError(
        fmt::format("'{}': {} of 6 parameters; in order: NumBits, MinSizeLog, MidSizeLog, MaxSizeLog, "
                    "MaxNumCachedHint, MaxBytesCachedLog, and if wanted MinNumCachedHint",
                    text, count));
  }
  const auto narrow = [](std::size_t value) { return static_cast<unsigned>(std::min<std::size_t>(value, 1000)); };
  const SizeClassParameters parameters{.num_bits = narrow(values[0]),
                                       .min_size_log = narrow(values[1]),
                                       .mid_size_log = narrow(values[2]),
                                       .max_size_log = narrow(values[3]),
                                       .max_num_cached = values[4],
                                       .max_bytes_cached_log = narrow(values[5]),
                                       .min_num_cached = values[6]};
  if (const char* fault = parameters.fault(); fault != nullptr)
    throw UserError(fmt::format("'{}' is no map: {}", text, fault));
  return parameters;
}

ClassesMap map_of_list(const std::string& name, const ClassList& list) {
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> cached;
  for (std::size_t c = 1; c < list.count; ++c) {
    sizes.push_back(list.rows[c].size);
    cached.push_back(list.rows[c].cached);
  }
  return make_classes_map(name, sizes, cached);
}

// Read as the drop-in reads it.
ClassesMap read_map_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  MapReader reader;
  std::array<char, 4096> bytes{};
  while (file.read(bytes.data(), bytes.size()) || file.gcount() > 0) {
    if (!reader.read(bytes.data(), static_cast<std::size_t>(file.gcount()))) break;
  }
  if (!file.is_open() || file.bad())
    throw UserError(
        fmt::format("'{}' is neither default, dense, parameters as in 3,4,8,17,8,10 nor a file that can be "
                    "read",
                    path));
  if (!reader.finish()) throw UserError(fmt::format("{}:{}: {}", path, reader.line(), reader.fault()));
  return map_of_list(path, reader.classes());
}

}  // namespace

std::size_t ClassesMap::class_of(std::size_t bytes) const {
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(largest_class) + 1;
  const auto found = std::lower_bound(rows.begin() + 1, end, bytes,
                                      [](const SizeClassRow& row, std::size_t size) { return row.size < size; });
  return found == end ? 0 : static_cast<std::size_t>(found - rows.begin());
}

std::size_t ClassesMap::worst_waste(std::size_t size_class) const {
  return size_class == 0 ? 0 : rows[size_class].size - rows[size_class - 1].size - 1;
}

SizeClassParameters::Total ClassesMap::total() const {
  SizeClassParameters::Total total{0, 0};
  for (const SizeClassRow& row : rows) {
    total.blocks += row.cached;
    total.bytes += row.bytes_cached;
  }
  return total;
}

ClassesMap find_classes_map(const std::string& text) {
  if (text == "default") return map_of_list(text, default_class_list());
  if (text == "dense") return map_of_parameters(text, DenseSizeClassMap::kParameters);
  return looks_like_parameters(text) ? map_of_parameters(text, parse_parameters(text)) : read_map_file(text);
}

ClassesMap make_classes_map(const std::string& name, const std::vector<std::size_t>& sizes,
                            const std::vector<std::size_t>& cached) {
  ClassesMap map{.name = name, .parameters = {}, .rows = {{}}, .largest_class = sizes.size()};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t before = map.rows.back().size;
    map.rows.push_back({.size_class = i + 1,
                        .size = sizes[i],
                        .difference = sizes[i] - before,
                        .percent = before == 0 ? 0 : (sizes[i] - before) * 100 / before,
                        .log = static_cast<unsigned>(std::bit_width(sizes[i])) - 1,
                        .cached = cached[i],
                        .bytes_cached = cached[i] * sizes[i],
                        .id = i + 1});
  }
  return map;
}

std::string map_file_text(const ClassesMap& map, const std::string& origin) {
  ClassList list;
  std::string text = fmt::format(
      "# Size-class map, for SNUG_CONF=classes:FILE. Written by: {}\n"
      "# Bytes of a block, blocks of that size that a thread may cache.\n",
      printable(origin));
  for (std::size_t c = 1; c <= map.largest_class; ++c) {
    const SizeClassRow& row = map.rows[c];
    if (const char* fault = list.fault_of(row.size, row.cached); fault != nullptr) {
      throw UserError(fmt::format("the drop-in cannot run on map {}: class {}, of {} bytes, {} cached: {}", map.name, c,
                                  row.size, row.cached, fault));
    }
    list.add(row.size, row.cached);
    text += fmt::format("{} {}\n", row.size, row.cached);
  }
  if (const char* fault = list.fault_of_end(); fault != nullptr)
    throw UserError(fmt::format("the drop-in cannot run on map {}: {}", map.name, fault));
  return text;
}

}  // namespace snug::tool
