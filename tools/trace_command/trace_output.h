// TraceOutput: the trace file that a command makes, closed with a line on standard error that says how large it became.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "input/trace_input.h"
#include "print/output_file.h"
#include "text/user_error.h"
#include "trace/trace_file.h"

namespace snug::tool {

// Throws UserError if both are one file, by whatever names: opening the output would destroy the input. "-" is standard
// input.
void expect_other_file(const std::string& input, const std::string& output);

struct WrittenTrace {
  std::string path;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t plain_bytes = 0;  // of events, before compression
};

// A line.
std::string json_of(const WrittenTrace& written);

class TraceOutput {
 public:
  // Throws UserError. The file must be none that is read, see expect_other_file().
  TraceOutput(const std::string& path, const trace::TraceFileOptions& options);
  // Of the same process as `input`, from the same moment, with its facts.
  TraceOutput(const std::string& path, const TraceInput& input, trace::TraceFileOptions options = {});
  void add_facts(const std::string& facts) { trace_->add_facts(facts); }
  void add(const trace::Event& event) { trace_->add(event); }
  trace::TraceFile& trace() { return *trace_; }
  // Ends the file and says so. Throws UserError if it could not be written. Without it there is no file.
  WrittenTrace finish();

 private:
  std::string path_;
  OutputFile file_;
  std::unique_ptr<trace::TraceFile> trace_;
};

}  // namespace snug::tool
