// PprofProfile: a profile of allocations in pprof's format (github.com/google/pprof, proto/profile.proto), not
// compressed, with the measures of its heap profiles: alloc_objects, alloc_space, inuse_objects, inuse_space.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace_command/call_stacks.h"
#include "trace_command/protobuf.h"
#include "trace_command/stack_profile.h"
#include "trace_command/symbols.h"

namespace snug::tool {

class PprofProfile {
 public:
  PprofProfile();

  void add_module(std::uint64_t number, const CallModule& module);
  // The number of a place in the code, which is the same for one that was there before.
  std::uint64_t location(const CallFrame& frame, const std::vector<Symbol>& functions);
  // Innermost first.
  void add_sample(const std::vector<std::uint64_t>& locations, const StackWeight& weight);
  // The bytes of the whole.
  std::string finish(std::uint64_t started, std::uint64_t nanoseconds);

 private:
  std::uint64_t text(const std::string& text);
  std::uint64_t function(const Symbol& symbol);
  void add_type(std::uint32_t field, const char* type, const char* unit);

  ProtobufMessage profile_;
  std::unordered_map<std::string, std::uint64_t> texts_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;      // by name and file
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> locations_;  // by module and address
  std::set<std::uint64_t> modules_;
};

}  // namespace snug::tool
