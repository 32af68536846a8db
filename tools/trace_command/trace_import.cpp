#include "trace_command/trace_import.h"

#include <fmt/format.h>

#include "input/imported_blocks.h"
#include "input/line_trace.h"
#include "print/say.h"
#include "text/numbered_lines.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "trace_command/heaptrack_file.h"
#include "trace_command/mtrace_log.h"
#include "trace_command/text_stream.h"
#include "trace_command/trace_output.h"

namespace snug::tool {

namespace {

struct ImportFormat {
  const char* name;
  const char* lacks;  // "; " between
  void (*read)(NumberedLines& lines, ImportedBlocks& blocks);
};

constexpr ImportFormat kFormats[] = {
    {"lines", kLinesLack, read_line_trace},
    {"mtrace",
     "threads; time (an event is 64 ns behind the one before); operations but malloc, free, realloc; alignments; "
     "callers (they are not taken over)",
     read_mtrace_log},
    {"heaptrack",
     "threads; realloc (a free and a malloc); operations but malloc and free; alignments; time within 10 ms; which of "
     "the blocks of one size and stack was freed (the one that came last); stacks (they are not taken over)",
     read_heaptrack_file},
};

// The first line that is no comment; it is read again.
const ImportFormat& told_by(NumberedLines& lines) {
  while (lines.next()) {
    const std::string_view line = lines.line();
    if (line.empty() || line.front() == '#') continue;
    lines.put_back();
    if (line.starts_with("= ") || line.starts_with("@ ")) return kFormats[1];
    if (line.starts_with("v ")) return kFormats[2];
    if (line.size() > 1 && line[1] == '\t') return kFormats[0];
    break;
  }
  throw lines.fault_of_text("of no format that is known; --from names one");
}

const ImportFormat& format_of(const std::string& name, NumberedLines& lines) {
  if (name.empty()) return told_by(lines);
  for (const ImportFormat& format : kFormats)
    if (format.name == name) return format;
  throw UserError(fmt::format("'{}' is no format that can be imported", name));
}

}  // namespace

std::vector<std::string> import_formats() {
  std::vector<std::string> names;
  for (const ImportFormat& format : kFormats) names.emplace_back(format.name);
  return names;
}

const char* import_help() {
  return R"(Formats, and what a trace that comes of them lacks:
  lines      what `snug classes fit` reads, a, f and r with tabs: no threads, no time
  mtrace     glibc's log (MALLOC_TRACE): no threads, no time; callers are left out
  heaptrack  its files, .zst too (of .gz pass the text: zcat FILE | snug trace import -): no threads, no realloc, time
             within 10 ms, and of blocks of one size and stack the one that came last is freed first, unless it is raw
             (heaptrack -r); stacks are left out
The trace's facts say it, too. A free of a block that never came is one of a block that was there before.

Examples:
  snug trace import heaptrack.prog.123.zst -o prog.trace
  MALLOC_TRACE=log LD_PRELOAD=libc_malloc_debug.so.0 ./prog; snug trace import log -o prog.trace
      The program itself calls mtrace().)";
}

WrittenTrace import_trace(const std::string& path, const std::string& format_name, const std::string& output_path) {
  TextStream stream(path);
  constexpr std::size_t kLongestName = std::size_t{1} << 20;  // heaptrack's, of functions that are made by templates
  NumberedLines lines(stream.text(), stream.name(), kLongestName);
  const ImportFormat& format = format_of(format_name, lines);
  expect_other_file(path, output_path);
  TraceOutput output(output_path, trace::TraceFileOptions{});
  output.add_facts(facts_of_import(format.name, format.lacks));
  ImportedBlocks blocks(output.trace());
  format.read(lines, blocks);
  WrittenTrace written = output.finish();
  say("snug: {} says nothing of: {}\n", format.name, format.lacks);
  if (blocks.found() != 0)
    say("snug: {}: {} block(s) were there before the trace began\n", printable(path), blocks.found());
  if (blocks.missing_frees() != 0)
    say("snug: {}: {} free(s) are missing, and made up\n", printable(path), blocks.missing_frees());
  return written;
}

}  // namespace snug::tool
