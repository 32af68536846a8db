// PerfMap: names of functions in code of no file, as runtimes that make code tell them to perf: lines "start bytes
// name" of /tmp/perf-PID.map, of which CPython 3.12 and later has one if asked (-X perf, PYTHONPERFSUPPORT=1).
//
//   functions do not overlap: of two the later line counts
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "input/trace_input.h"
#include "trace_command/call_stacks.h"

namespace snug::tool {

class PerfMap {
 public:
  PerfMap() = default;
  // The map of a process that lived from and until these times, nanoseconds since 1970. Empty where there is none, or
  // it is not this user's, or was last written outside of that time: by another process of the number.
  PerfMap(std::uint64_t process, std::uint64_t from, std::uint64_t until);

  bool is_empty() const { return functions_.empty(); }
  // Null if no function lies there.
  const std::string* name_at(std::uint64_t address) const;

 private:
  struct Function {
    std::uint64_t end;
    std::string name;
  };
  void add(std::uint64_t start, std::uint64_t bytes, std::string name);

  std::map<std::uint64_t, Function> functions_;  // by start
};

// That of the process which is read, `duration` in steps. Of a Python of which there is none a line on standard error
// says why.
PerfMap perf_map_of(const TraceInput& input, const CallStacks& stacks, std::uint64_t duration);

// True of a module that is CPython's interpreter.
bool is_python(const CallModule& module);

}  // namespace snug::tool
