#include "trace_command/trace_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "print/quantity.h"
#include "print/say.h"
#include "text/json_text.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

trace::TraceFileOptions options_of(const TraceInput& input, trace::TraceFileOptions options, const std::string& path) {
  expect_other_file(input.path(), path);
  options.process = input.process().process;
  options.started = input.process().started;
  options.chunk_flags = input.chunk_flags();
  return options;
}

}  // namespace

void expect_other_file(const std::string& input, const std::string& output) {
  std::error_code none;
  if (std::filesystem::equivalent(input == "-" ? "/dev/stdin" : input, output, none))
    throw UserError(fmt::format("'{}' is read, and cannot be written at the same time", output));
}

std::string json_of(const WrittenTrace& written) {
  const nlohmann::ordered_json json = {{"file", written.path},
                                       {"events", written.events},
                                       {"file_bytes", written.bytes},
                                       {"plain_bytes", written.plain_bytes}};
  return json_text(json) + "\n";
}

TraceOutput::TraceOutput(const std::string& path, const trace::TraceFileOptions& options)
    : path_(path), file_(path), trace_(std::make_unique<trace::TraceFile>(file_.stream(), options)) {}

TraceOutput::TraceOutput(const std::string& path, const TraceInput& input, trace::TraceFileOptions options)
    : TraceOutput(path, options_of(input, options, path)) {
  add_facts(input.facts());
}

WrittenTrace TraceOutput::finish() {
  if (!trace_->finish())
    throw UserError(fmt::format("cannot write '{}': {}", path_, std::strerror(trace_->error())), EXIT_FAILURE);
  file_.finish();
  WrittenTrace written_trace = {
      .path = path_, .events = trace_->events(), .bytes = trace_->bytes(), .plain_bytes = trace_->plain_bytes()};
  const double events = static_cast<double>(written_trace.events == 0 ? 1 : written_trace.events);
  say("snug: wrote {}: {} events, {} ({:.2f} bytes an event, {:.2f} before compression)\n", printable(path_),
      written_trace.events, value_text(static_cast<double>(written_trace.bytes), kBytes),
      static_cast<double>(written_trace.bytes) / events, static_cast<double>(written_trace.plain_bytes) / events);
  return written_trace;
}

}  // namespace snug::tool
