#include "trace_command/pprof_profile.h"

#include <fmt/format.h>

#include "text/printable.h"

namespace snug::tool {

namespace {

// Numbers of fields, message by message.
namespace profile {
enum : std::uint32_t {
  kSampleType = 1,
  kSample,
  kMapping,
  kLocation,
  kFunction,
  kText,
  kTime = 9,
  kDuration,
  kPeriodType,
  kPeriod
};
}
namespace type {
enum : std::uint32_t { kType = 1, kUnit };
}
namespace sample {
enum : std::uint32_t { kLocation = 1, kValue };
}
namespace mapping {
enum : std::uint32_t { kId = 1, kBegin, kEnd, kOffset, kFile, kBuildId, kHasFunctions, kHasFiles, kHasLines };
}
namespace spot {
enum : std::uint32_t { kId = 1, kMapping, kAddress, kLine };
}
namespace line {
enum : std::uint32_t { kFunction = 1, kLine };
}
namespace callee {
enum : std::uint32_t { kId = 1, kName, kSystemName, kFile };
}

}  // namespace

PprofProfile::PprofProfile() {
  text("");  // the first is the empty one
  add_type(profile::kSampleType, "alloc_objects", "count");
  add_type(profile::kSampleType, "alloc_space", "bytes");
  add_type(profile::kSampleType, "inuse_objects", "count");
  add_type(profile::kSampleType, "inuse_space", "bytes");
}

void PprofProfile::add_type(std::uint32_t field, const char* name, const char* unit) {
  ProtobufMessage message;
  message.add(type::kType, text(name));
  message.add(type::kUnit, text(unit));
  profile_.add(field, message.bytes());
}

// Addresses are the file's own, so that each mapping may begin at 0; names are there already.
void PprofProfile::add_module(std::uint64_t number, const CallModule& module) {
  std::string digits;
  for (const char byte : module.build_id) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  ProtobufMessage message;
  message.add(mapping::kId, number);
  message.add(mapping::kFile, text(printable(module.path)));
  message.add(mapping::kBuildId, text(digits));
  message.add(mapping::kHasFunctions, 1);
  message.add(mapping::kHasFiles, 1);
  message.add(mapping::kHasLines, 1);
  profile_.add(profile::kMapping, message.bytes());
  modules_.insert(number);
}

std::uint64_t PprofProfile::location(const CallFrame& frame, const std::vector<Symbol>& functions) {
  const auto [place, is_new] = locations_.try_emplace({frame.module, frame.address}, locations_.size() + 1);
  if (!is_new) return place->second;
  ProtobufMessage message;
  message.add(spot::kId, place->second);
  if (modules_.contains(frame.module)) message.add(spot::kMapping, frame.module);
  message.add(spot::kAddress, frame.address);
  for (const Symbol& symbol : functions) {
    ProtobufMessage part;
    part.add(line::kFunction, function(symbol));
    part.add(line::kLine, static_cast<std::uint64_t>(symbol.line));
    message.add(spot::kLine, part.bytes());
  }
  profile_.add(profile::kLocation, message.bytes());
  return place->second;
}

void PprofProfile::add_sample(const std::vector<std::uint64_t>& locations, const StackWeight& weight) {
  ProtobufMessage message;
  message.add(sample::kLocation, locations);
  message.add(sample::kValue, {weight.blocks, weight.bytes, weight.live_blocks, weight.live_bytes});
  profile_.add(profile::kSample, message.bytes());
}

std::uint64_t PprofProfile::function(const Symbol& symbol) {
  const auto [place, is_new] = functions_.try_emplace({symbol.function, symbol.file}, functions_.size() + 1);
  if (!is_new) return place->second;
  ProtobufMessage message;
  message.add(callee::kId, place->second);
  message.add(callee::kName, text(printable(symbol.function)));
  message.add(callee::kSystemName, text(printable(symbol.function)));
  message.add(callee::kFile, text(printable(symbol.file)));
  profile_.add(profile::kFunction, message.bytes());
  return place->second;
}

// The texts are one table, in the order of their numbers.
std::uint64_t PprofProfile::text(const std::string& text) {
  const auto [place, is_new] = texts_.try_emplace(text, texts_.size());
  if (is_new) profile_.add(profile::kText, text);
  return place->second;
}

std::string PprofProfile::finish(std::uint64_t started, std::uint64_t nanoseconds) {
  profile_.add(profile::kTime, started);
  profile_.add(profile::kDuration, nanoseconds);
  add_type(profile::kPeriodType, "space", "bytes");
  profile_.add(profile::kPeriod, 1);
  return profile_.bytes();
}

}  // namespace snug::tool
