#include "allocator/report.h"

#include <errno.h>

#include "allocator/figures.h"
#include "allocator/statistics.h"
#include "base/algorithm.h"
#include "base/shared_holds.h"
#include "base/text.h"
#include "os/appended_file.h"
#include "os/process.h"

namespace snug {
namespace {

// A line with all statistics and the peak, which has an entry for each class.
using ReportLine = Text<16384>;
// A line with only the count of a process's allocations.
using CountLine = Text<512>;

// What every line begins with.
template <size_t Capacity>
void add_process(Text<Capacity>& line) {
  line.add("{\"pid\":").add(uint64_t{os::process_id()}).add(",\"program\":\"");
  // Its printable ASCII, as JSON may have nothing else; no more of it than a kernel's name and some.
  constexpr size_t kMostOfName = 64;
  const char* c = program_invocation_short_name;
  for (size_t left = kMostOfName; *c != 0 && left != 0; ++c, --left)
    if (*c >= ' ' && *c <= '~' && *c != '"' && *c != '\\') line.put(*c);
  line.put('"');
}

// Adds the member `name`, a number.
template <size_t Capacity>
void add_member(Text<Capacity>& line, const char* name, uint64_t number) {
  line.add(",\"").add(name).add("\":").add(number);
}

void report_count() {
  CountLine line;
  add_process(line);
  line.add(",\"allocations\":").add(count_allocations(allocator.caches.statistics())).add("}\n");
  os::append_to_file(allocator.config.report, line.data(), line.size());
}

// Adds how often process-wide locks were taken, in builds with assertions.
void add_takings(ReportLine& line) {
  if constexpr (!SharedHolds::kCounted) return;
  line.add(",\"shared_locks\":").add(SharedHolds::taken()).add(",\"taken_in\":[");
  const char* before = "";
  SharedHolds::for_each_function([&](const char* file, const char* function, uint64_t takings) {
    line.add(before).add("[\"").add(file).add("\",\"").add(function).add("\",").add(takings).add("]");
    before = ",";
  });
  line.add("]");
}

void add_peak(ReportLine& line, const Attribution& peak) {
  line.add(",\"peak\":{\"looks\":").add(allocator.peak.looks());
  for (const MemoryPart& part : kMemoryParts) add_member(line, part.name, peak.sums.*part.bytes);
  line.add(",\"classes\":[");
  const char* before = "";
  for (size_t c = 1; c < allocator.table->count; ++c) {
    const ClassMemory& its = peak.classes[c];
    if (its.used + its.free + its.empty == 0) continue;
    line.add(before).add("{\"size\":").add(allocator.table->classes[c].block_size).add(",\"used\":").add(its.used);
    line.add(",\"free\":").add(its.free).add(",\"empty\":").add(its.empty).add("}");
    before = ",";
  }
  line.add("]}");
}

// An object in a list.
using ListEntry = Text<256>;

void write_classes(os::OutputStream& out, const ClassUses& uses) {
  out.put(",\"classes\":[");
  const char* before = "";
  for (size_t c = 1; c < allocator.table->count; ++c) {
    const ClassUse& use = uses.of[c];
    if (use.slabs == 0) continue;
    const SizeClass& sizes = allocator.table->classes[c];
    ListEntry entry;
    entry.add(before).add("{\"size\":").add(sizes.block_size);
    // The counts are of slightly different moments.
    add_member(entry, "live", use.out - min(use.cached, use.out));
    add_member(entry, "cached", use.cached);
    add_member(entry, "slabs", use.slabs);
    add_member(entry, "bytes_in_slabs", use.slabs * sizes.pages_per_slab * kPageSize);
    out.put(entry.add("}").data());
    before = ",";
  }
  out.put("]");
}

// Writes an entry for each thread; returns what each class has.
ClassUses write_threads(os::OutputStream& out) {
  const LockGuard hands(allocator.background.hands());
  allocator.caches.reap_orphans();
  const CacheRevocation::Exclusive exclusive(allocator.revocation);
  out.put(",\"threads_with_cache\":[");
  const char* before = "";
  const ClassUses uses = gather_uses([&](const ThreadCache& cache, uint64_t bytes) {
    ListEntry entry;
    entry.add(before).add("{\"allocations\":").add(cache.allocations());
    add_member(entry, "refills", cache.refills());
    add_member(entry, "flushes", cache.flushes());
    add_member(entry, "bytes_cached", bytes);
    out.put(entry.add("}").data());
    before = ",";
  });
  out.put("]");
  return uses;
}

}  // namespace

void report_statistics() {
  if (allocator.config.report[0] == 0) return;
  if (allocator.config.reporting == Reporting::kCount) return report_count();
  const snug_stats stats = gather_statistics();
  static constinit ReportLine line;  // too long for some stacks; a process ends once
  add_process(line);
  for (const Figure& figure : kFigures) add_member(line, figure.name, stats.*figure.value);
  add_takings(line);
  if (const Attribution* peak = allocator.peak.conclude(); peak != nullptr) add_peak(line, *peak);
  line.add("}\n");
  // A failure is not reported: what was standard error may by now be a file of the program's.
  os::append_to_file(allocator.config.report, line.data(), line.size());
}

void write_statistics(os::OutputStream& out, bool with_memory) {
  Text<4096> line;
  add_process(line);
  line.add(",\"schema\":\"snug.statistics/1\",\"version\":\"").add(uint64_t{SNUG_VERSION_MAJOR}).put('.');
  line.add(uint64_t{SNUG_VERSION_MINOR}).put('.').add(uint64_t{SNUG_VERSION_PATCH}).put('"');
  const snug_stats stats = gather_statistics();
  for (const Figure& figure : kFigures) add_member(line, figure.name, stats.*figure.value);
  add_member(line, "profile", allocator.profile.is_on() ? allocator.profile.mean() : 0);
  out.put(line.data());
  write_classes(out, write_threads(out));
  snug_memory memory;
  if (with_memory && gather_memory(memory)) {
    Text<1024> parts;
    for (const MemoryPart& part : kMemoryParts) add_member(parts, part.name, memory.*part.bytes);
    out.put(",\"memory\":{");
    out.put(parts.data() + 1);  // without its comma
    out.put("}");
  }
  out.put("}\n");
}

}  // namespace snug
