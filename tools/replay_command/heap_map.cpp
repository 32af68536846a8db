#include "replay_command/heap_map.h"

#include <algorithm>

namespace snug::tool {

void HeapMap::add(std::uint64_t address, std::uint64_t size) {
  while (size != 0) {
    const std::uint64_t row = address >> shift_;
    if (used_.insert(row).second && used_.size() > kMostRows) {
      halve();
      continue;
    }
    const std::uint64_t part = std::min(size, ((row + 1) << shift_) - address);
    columns_.back().rows[row] += part;
    address += part;
    size -= part;
  }
}

void HeapMap::halve() {
  ++shift_;
  std::set<std::uint64_t> used;
  for (const std::uint64_t row : used_) used.insert(row >> 1);
  used_ = std::move(used);
  for (Column& column : columns_) {
    std::map<std::uint64_t, std::uint64_t> rows;
    for (const auto& [row, bytes] : column.rows) rows[row >> 1] += bytes;
    column.rows = std::move(rows);
  }
}

}  // namespace snug::tool
