#include "trace_command/trace_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "print/quantity.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

std::FILE* open_for_writing(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) throw UserError(fmt::format("cannot write '{}': {}", path, std::strerror(errno)), EXIT_FAILURE);
  return file;
}

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

// Names of files may be no UTF-8.
std::string json_of(const WrittenTrace& written) {
  const nlohmann::ordered_json json = {{"file", written.path},
                                       {"events", written.events},
                                       {"file_bytes", written.bytes},
                                       {"plain_bytes", written.plain_bytes}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

TraceOutput::TraceOutput(const std::string& path, const trace::TraceFileOptions& options)
    : path_(path), file_(open_for_writing(path)), trace_(std::make_unique<trace::TraceFile>(file_, options)) {}

TraceOutput::TraceOutput(const std::string& path, const TraceInput& input, trace::TraceFileOptions options)
    : TraceOutput(path, options_of(input, options, path)) {
  add_facts(input.facts());
}

TraceOutput::~TraceOutput() {
  if (file_ != nullptr) std::fclose(file_);
}

void TraceOutput::discard() {
  std::error_code none;
  if (std::filesystem::is_regular_file(path_, none)) std::filesystem::remove(path_, none);
}

WrittenTrace TraceOutput::finish() {
  const bool written = trace_->finish();
  const bool closed = std::fclose(file_) == 0;
  const int error = written ? errno : trace_->error();
  file_ = nullptr;
  if (!written || !closed)
    throw UserError(fmt::format("cannot write '{}': {}", path_, std::strerror(error)), EXIT_FAILURE);
  WrittenTrace written_trace = {
      .path = path_, .events = trace_->events(), .bytes = trace_->bytes(), .plain_bytes = trace_->plain_bytes()};
  const double events = static_cast<double>(written_trace.events == 0 ? 1 : written_trace.events);
  fmt::print(stderr, "snug: wrote {}: {} events, {} ({:.2f} bytes an event, {:.2f} before compression)\n",
             printable(path_), written_trace.events, value_text(static_cast<double>(written_trace.bytes), kBytes),
             static_cast<double>(written_trace.bytes) / events,
             static_cast<double>(written_trace.plain_bytes) / events);
  return written_trace;
}

}  // namespace snug::tool
