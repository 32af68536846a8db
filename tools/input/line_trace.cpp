#include "input/line_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "input/allocation_trace.h"
#include "trace/trace_file.h"

namespace snug::tool {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

void read_line_trace(NumberedLines& lines, ImportedBlocks& blocks) {
  AllocationTrace trace(lines);
  while (const std::optional<TraceEvent> event = trace.next()) {
    if (event->kind == TraceEvent::Kind::kAllocate) blocks.allocate(event->key, event->bytes);
    if (event->kind == TraceEvent::Kind::kFree) blocks.free(event->freed_key);
    if (event->kind == TraceEvent::Kind::kReallocate) blocks.reallocate(event->freed_key, event->key, event->bytes);
  }
}

bool begins_with_lines(trace::Source& source) {
  constexpr std::uint64_t kLooked = 4096;
  std::string text(std::min(source.size(), kLooked), '\0');
  if (!source.read(0, text.data(), text.size())) return false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    return line.size() > 1 && line[1] == '\t' && std::strchr("afr", line[0]) != nullptr;
  }
  return false;
}

std::unique_ptr<trace::Source> trace_of_lines(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::tmpfile());
  if (file == nullptr)
    throw UserError(fmt::format("{}: no room to read its lines: {}", path, std::strerror(errno)), EXIT_FAILURE);
  trace::TraceFile made(file.get(), {.level = 1});
  made.add_facts(facts_of_import("lines", kLinesLack));
  ImportedBlocks blocks(made);
  std::ifstream text(path);
  NumberedLines lines(text, path);
  read_line_trace(lines, blocks);
  std::string fault = std::strerror(made.finish() ? 0 : made.error());
  std::unique_ptr<trace::Source> source;
  if (made.error() == 0) source = trace::open_source(fmt::format("/proc/self/fd/{}", fileno(file.get())), fault);
  if (source == nullptr)
    throw UserError(fmt::format("{}: its lines cannot be read as a trace: {}", path, fault), EXIT_FAILURE);
  return source;
}

}  // namespace snug::tool
