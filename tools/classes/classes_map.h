// ClassesMap: a size-class map as `snug classes` shows it: built in, of any parameters, out of a file, or fitted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "snug/size_class_map.h"

namespace snug::tool {

struct ClassesMap {
  std::string name;
  std::optional<SizeClassParameters> parameters;  // of a map of the family
  // Class 0 first; behind the largest, in a map of the family, the batch class.
  std::vector<SizeClassRow> rows;
  std::size_t largest_class = 0;

  const SizeClassRow& largest() const { return rows[largest_class]; }
  // The class that serves a request of `bytes`; 0 if it is beyond the largest.
  std::size_t class_of(std::size_t bytes) const;
  // Bytes of a block that the smallest request of the class leaves unused.
  std::size_t worst_waste(std::size_t size_class) const;
  SizeClassParameters::Total total() const;
};

// `text` is default, dense, parameters ("3,4,8,17,8,10") or a map file's path. Throws UserError.
ClassesMap find_classes_map(const std::string& text);

// One class more each: `sizes` rise.
ClassesMap make_classes_map(const std::string& name, const std::vector<std::size_t>& sizes,
                            const std::vector<std::size_t>& cached);

// What the drop-in loads (SNUG_CONF=classes:FILE); `origin` becomes a comment. Throws UserError if it could not.
std::string map_file_text(const ClassesMap& map, const std::string& origin);

}  // namespace snug::tool
