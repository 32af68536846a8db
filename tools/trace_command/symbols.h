// Symbols: names of functions for the addresses of a trace's stacks. They are asked of llvm-symbolizer, or else of
// addr2line: one run for each module with a file that is there and has the recorded build-id. Both know the tables of
// symbols, DWARF, inlined functions, and files of debugging information that lie apart. Code of no file has names in a
// map for perf, if there is one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace_command/call_stacks.h"
#include "trace_command/perf_map.h"

namespace snug::tool {

// What names of Python's functions begin with.
inline constexpr std::string_view kPython = "py::";

struct Symbol {
  std::string function;
  std::string file;  // of the source; empty if it is not known
  std::int64_t line = 0;
  bool is_place = false;  // there is no name: the function is "module+0x12", or an address
};

// True if there is a file of that path and build-id. Any other is not read any further, as a trace and a core may come
// from anybody.
bool is_recorded_file(const std::string& path, const std::string& build_id);

class Symbols {
 public:
  // Of every frame. What stands in the way is said on standard error, a line for each module.
  explicit Symbols(const CallStacks& stacks, const PerfMap& map = {});

  // Innermost first: where functions are inlined, one address is in several. Never empty: without a name it is
  // "module+0x12".
  const std::vector<Symbol>& at(const CallFrame& frame) const;

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // module, address

  std::map<Place, std::vector<Symbol>> symbols_;
};

}  // namespace snug::tool
