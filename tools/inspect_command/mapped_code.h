// MappedCode: what a process has mapped where, and the functions that addresses of its code lie in.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace_command/symbols.h"

namespace snug::tool {

struct Mapping {
  std::uint64_t start = 0, end = 0, offset = 0;  // in its file
  std::string path;
  bool is_writable = false;
};

// Of a running process, by address; none if it has ended.
std::vector<Mapping> mappings_of(pid_t pid);

class MappedCode {
 public:
  // The build-id of what a mapping has of its file; empty if that is not known.
  using BuildId = std::function<std::string(const Mapping&)>;

  // Names the functions of these addresses, of code, by the files that are mapped there, where those have the build-id
  // still. What stands in the way is said on standard error.
  MappedCode(std::vector<Mapping> mappings, const std::vector<std::uint64_t>& addresses, const BuildId& build_id);

  // What is mapped at the address: a file's path, "[stack]" and the like, "" for memory without a name; nothing if
  // nothing is.
  std::optional<std::string> mapping_at(std::uint64_t address) const;
  // The functions that one of these addresses lies in, innermost first: where functions are inlined, in several.
  const std::vector<Symbol>& functions_at(std::uint64_t address) const { return functions_.at(address); }

 private:
  const Mapping* at(std::uint64_t address) const;
  void name(const std::vector<std::uint64_t>& addresses, const BuildId& build_id);

  std::vector<Mapping> mappings_;  // by address
  std::map<std::uint64_t, std::vector<Symbol>> functions_;
};

}  // namespace snug::tool
