// HeapMap: which addresses the live blocks of a replay lie at, checkpoint by checkpoint: for each *row*, a stretch of
// addresses, the bytes of it that live blocks have.
//
//   at most kMostRows rows have ever had a byte:  where there are more, each two neighbours become one
//
// A row begins at a multiple of its length. Stretches that never had a block are no rows.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace snug::tool {

class HeapMap {
 public:
  static constexpr std::size_t kMostRows = 256;

  struct Column {
    std::uint64_t nanoseconds;                    // of the recording
    std::map<std::uint64_t, std::uint64_t> rows;  // live bytes by the row's number: address / bytes_per_row()
  };

  void begin(std::uint64_t nanoseconds) { columns_.push_back({nanoseconds, {}}); }
  // A live block, in the newest column.
  void add(std::uint64_t address, std::uint64_t size);

  std::uint64_t bytes_per_row() const { return std::uint64_t{1} << shift_; }
  // The numbers of all rows that ever had a byte.
  const std::set<std::uint64_t>& rows() const { return used_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  void halve();

  unsigned shift_ = 12;  // an OS page
  std::set<std::uint64_t> used_;
  std::vector<Column> columns_;
};

}  // namespace snug::tool
