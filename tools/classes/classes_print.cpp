#include "classes/classes_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "print/quantity.h"
#include "print/table.h"
#include "thread/array_store.h"
#include "thread/thread_cache.h"
#include "thread/thread_state.h"

namespace snug::tool {

namespace {

std::string percent_text(std::size_t part, std::size_t whole) {
  return whole == 0 ? "" : fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

bool is_batch(const ClassesMap& map, const SizeClassRow& row) { return row.size_class > map.largest_class; }

// class_of(size) with the frozen count of doublings.
std::size_t frozen_id(const SizeClassParameters& map, const SizeClassRow& row) {
  constexpr std::size_t kFrozenDoublings = 8;
  if (row.size <= map.mid_size()) return map.class_of(row.size);
  const unsigned log = static_cast<unsigned>(std::bit_width(row.size)) - 1;
  const std::size_t mask = (std::size_t{1} << map.step_bits()) - 1;
  const std::size_t beyond = (row.size & ((std::size_t{1} << (log - map.step_bits())) - 1)) != 0 ? 1 : 0;
  return map.mid_class() + (kFrozenDoublings << map.step_bits()) + ((row.size >> (log - map.step_bits())) & mask) +
         beyond;
}

nlohmann::ordered_json row_json(const SizeClassRow& row) {
  return {{"class", row.size_class},          {"size", row.size}, {"difference", row.difference},
          {"percent", row.percent},           {"log", row.log},   {"cached", row.cached},
          {"bytes_cached", row.bytes_cached}, {"id", row.id}};
}

// What the drop-in takes for a thread's cache besides blocks, once the thread has filled that of every class. Null of a
// map that is too large to be loaded.
nlohmann::ordered_json thread_cache_json(const ClassesMap& map) {
  if (map.largest_class >= kMaxClasses) return nullptr;
  std::size_t arrays = 0;
  for (std::size_t c = 1; c <= map.largest_class; ++c) {
    const std::size_t places = std::max(std::bit_ceil(map.rows[c].cached), ArrayStore::kLeastPlaces);
    if (places > ArrayStore::kMostPlaces) return nullptr;
    arrays += places * sizeof(void*);
  }
  return {{"header_bytes", sizeof(ThreadState) + sizeof(ThreadCache)}, {"array_bytes", arrays}};
}

}  // namespace

std::string classes_table(const ClassesMap& map) {
  Table table({"class", "size", "step", "step %", "worst waste", "cached", "bytes cached", "id"});
  for (const SizeClassRow& row : map.rows) {
    const bool plain = row.size_class != 0 && !is_batch(map, row);
    table.add_row({is_batch(map, row) ? "batch" : fmt::format("{}", row.size_class), fmt::format("{}", row.size),
                   plain ? fmt::format("+{}", row.difference) : "",
                   plain ? percent_text(row.difference, row.size - row.difference) : "",
                   plain ? percent_text(map.worst_waste(row.size_class), row.size) : "", fmt::format("{}", row.cached),
                   fmt::format("{}", row.bytes_cached), fmt::format("{}", row.id)});
  }
  const SizeClassParameters::Total total = map.total();
  std::string text = table.text();
  text += fmt::format("\nA thread caches at most {} blocks, {} bytes", total.blocks, total.bytes);
  if (map.parameters) text += " (those of the batch class included, which Scudo has and snug does not)";
  text += ".\nSNUG_CONF's cache bounds those bytes, but for one block of each class.\n";
  text += "Step: bytes more than the class before. Worst waste: of a block, by the smallest request that it serves.\n";
  return text;
}

std::string compatible_text(const SizeClassParameters& map) {
  std::string text;
  for (std::size_t c = 0; c < map.num_classes(); ++c) {
    const SizeClassRow row = map.row(c);
    text += fmt::format("c{:02} => s: {} diff: +{} {:02}% l {} cached: {} {}; id {}\n", c, row.size, row.difference,
                        row.percent, row.log, row.cached, row.bytes_cached, frozen_id(map, row));
  }
  const SizeClassParameters::Total total = map.total();
  return text +
         fmt::format("Total cached: {} ({}/{})\n", total.bytes, total.blocks, map.num_classes() * map.max_num_cached);
}

nlohmann::ordered_json classes_json(const ClassesMap& map) {
  nlohmann::ordered_json json{{"map", map.name}};
  if (map.parameters) {
    const SizeClassParameters& parameters = *map.parameters;
    json["parameters"] = {{"num_bits", parameters.num_bits},
                          {"min_size_log", parameters.min_size_log},
                          {"mid_size_log", parameters.mid_size_log},
                          {"max_size_log", parameters.max_size_log},
                          {"max_num_cached_hint", parameters.max_num_cached},
                          {"max_bytes_cached_log", parameters.max_bytes_cached_log},
                          {"min_num_cached_hint", parameters.min_num_cached}};
  }
  json["classes"] = nlohmann::ordered_json::array();
  for (const SizeClassRow& row : map.rows) {
    if (is_batch(map, row)) {
      json["batch_class"] = row_json(row);
      continue;
    }
    json["classes"].push_back(row_json(row));
    json["classes"].back()["worst_waste"] = map.worst_waste(row.size_class);
  }
  json["total"] = {{"cached", map.total().blocks}, {"bytes_cached", map.total().bytes}};
  json["thread_cache"] = thread_cache_json(map);
  return json;
}

}  // namespace snug::tool
