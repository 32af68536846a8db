// Imports any bytes as each format: the importer reads them without fault, or one line says what is wrong; every event
// of the trace that it makes is possible. The first byte chooses the format.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "input/imported_blocks.h"
#include "input/line_trace.h"
#include "text/numbered_lines.h"
#include "text/user_error.h"
#include "trace/chunk_directory.h"
#include "trace/trace_account.h"
#include "trace/trace_file.h"
#include "trace/trace_reader.h"
#include "trace_command/heaptrack_file.h"
#include "trace_command/mtrace_log.h"

namespace snug::tool {
namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "trace_imports: %s\n", what);
  std::abort();
}

void expect_possible(const char* bytes, std::size_t count, std::uint64_t events) {
  trace::MemorySource source({reinterpret_cast<const std::uint8_t*>(bytes), count});
  trace::Damage damage;
  std::string refusal;
  const auto directory = trace::ChunkDirectory::read(source, damage, refusal);
  expect(directory.has_value(), "what was imported is a trace");
  trace::TraceReader reader(source, *directory, damage);
  trace::TraceAccount account;
  trace::Event event;
  while (reader.next(event)) account.add(event);
  expect(damage.faults() == 0 && account.faults() == 0, "each event can be");
  expect(account.events() == events, "each event is there");
}

void import(char format, const std::string& bytes) {
  char* memory = nullptr;
  std::size_t count = 0;
  std::FILE* const file = ::open_memstream(&memory, &count);
  trace::TraceFile output(file, {.level = 0});
  ImportedBlocks blocks(output);
  std::istringstream text(bytes);
  NumberedLines lines(text, "text");
  try {
    if (format == 'm')
      read_mtrace_log(lines, blocks);
    else if (format == 'h')
      read_heaptrack_file(lines, blocks);
    else
      read_line_trace(lines, blocks);
  } catch (const UserError& error) {
    expect(std::string(error.what()).starts_with("text:"), "what is wrong is said with its place");
  }
  expect(output.finish(), "the trace is written");
  std::fclose(file);
  expect_possible(memory, count, blocks.events());
  std::free(memory);
}

}  // namespace
}  // namespace snug::tool

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  if (count == 0) return 0;
  snug::tool::import(static_cast<char>(bytes[0]), std::string(bytes + 1, bytes + count));
  return 0;
}
