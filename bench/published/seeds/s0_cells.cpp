// s0_cells: the published table of a cell allocator with bins (S0), on cell heaps that are composed as its versions
// were, on snug's default cell heap, on rlsf's TLSF, and on malloc.
//
// 8040 cells are 402 groups of 1 large and 19 small. All large ones are freed and 10 small ones of each group, every
// other one. Then N times the 402 large are allocated and freed, for N of 10, 15 … 300; the time of a run is that of
// set-up and rounds. Versions take turns run by run, so that drift meets all alike. Pages are recycled from run to run:
// no version pays for page faults.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "cell_versions.h"
#include "instruction_stepper.h"

namespace {

using seeds::CellCalls;

constexpr size_t kGroups = 402;
constexpr size_t kSmallPerGroup = 19;
constexpr size_t kSmallBytes = 24;
constexpr size_t kFirstRounds = 10, kLastRounds = 300, kStepRounds = 5;

struct Options {
  unsigned runs = 30;
  size_t large_bytes = 1024;
  std::string versions;  // none: all that can be had
  bool rows = true;
};

constexpr const char* kHelp = R"(usage: s0_cells [--runs N] [--large BYTES] [--versions LIST] [--summary]

Regenerates the published table of a cell allocator with bins: 8040 cells of 402 groups (1 large, 19 small); the large
and 10 small ones of each group are freed; then N times the 402 large are allocated and freed, N = 10, 15 ... 300.
Prints mean, standard deviation and median in ms for each version, what a pair costs by least squares of the medians, cells
looked at, pages, instructions.

  --runs N          of each N and version, at least 2 (default 30)
  --large BYTES     of a large cell (default 1024); small ones are 24
  --versions LIST   some of old,without,new,snug,region,rlsf,malloc (default: all that can be had)
                      old      a scan with a roving pointer; no trailers: merges with the next cell only
                      without  bins of powers of two, a trailer on every cell, no retention threshold
                      new      the same with the threshold
                      snug     the default: two-level bins, a trailer on free cells only; on pages, with the threshold
                      region   the same in one region
                      rlsf     TLSF of the crate rlsf in one pool, called as directly; where the variable SEEDS_RLSF
                               names the library that bench/harness/allocators/fetch tlsf builds
                      malloc   the process's: preload any allocator to compare it
  --summary         only what is below the table

Exit status: 0, 1 if a heap fails its check, 2 wrong usage.
)";

[[noreturn]] void fail(const std::string& why, int status) {
  std::fprintf(stderr, "s0_cells: %s\n", why.c_str());
  std::exit(status);
}

double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Cells {
  void* large[kGroups];
  void* small[kGroups][kSmallPerGroup];
};
Cells cells;

template <class Heap>
void set_up(Heap& heap, size_t large_bytes) {
  for (size_t g = 0; g < kGroups; ++g) {
    cells.large[g] = CellCalls<Heap>::allocate(heap, large_bytes);
    for (void*& small : cells.small[g]) small = CellCalls<Heap>::allocate(heap, kSmallBytes);
  }
}

template <class Heap>
void make_holes(Heap& heap) {
  for (void* large : cells.large) CellCalls<Heap>::deallocate(heap, large);
  for (auto& group : cells.small) {
    for (size_t s = 0; s < kSmallPerGroup; s += 2) CellCalls<Heap>::deallocate(heap, group[s]);
  }
}

template <class Heap>
void one_round(Heap& heap, size_t large_bytes) {
  for (void*& large : cells.large) large = CellCalls<Heap>::allocate(heap, large_bytes);
  for (void* large : cells.large) CellCalls<Heap>::deallocate(heap, large);
}

template <class Heap>
void tear_down(Heap& heap) {
  for (auto& group : cells.small) {
    for (size_t s = 1; s < kSmallPerGroup; s += 2) CellCalls<Heap>::deallocate(heap, group[s]);
  }
}

template <class Heap>
double time_run(size_t large_bytes, size_t rounds) {
  Heap heap;
  const double start = now_ns();
  set_up(heap, large_bytes);
  make_holes(heap);
  for (size_t n = 0; n < rounds; ++n) one_round(heap, large_bytes);
  const double ns = now_ns() - start;
  tear_down(heap);
  return ns / 1e6;
}

// What does not depend on time.
struct Facts {
  size_t pages = 0;
  size_t bytes_used = 0;
  double examined = 0;      // cells looked at for each large one
  double instructions = 0;  // of an allocation and its free
};

template <class Heap>
double count_pair(Heap& heap, size_t large_bytes) {
  // Through pointers that the compiler cannot see through, so that the calls step from their own first instruction.
  auto* volatile take = CellCalls<Heap>::allocate;
  auto* volatile give = CellCalls<Heap>::deallocate;
  constexpr size_t kCounted = 40;
  uint64_t sum = 0;
  const auto last = [] { return snug::stepping::sample_at(snug::stepping::sample_count() - 1).instructions; };
  for (size_t g = 0; g < kGroups; ++g) {
    if (g < kCounted) snug::stepping::arm(reinterpret_cast<const void*>(take), "pair", 1);
    cells.large[g] = take(heap, large_bytes);
    if (g < kCounted) sum += last();
  }
  for (size_t g = 0; g < kGroups; ++g) {
    if (g < kCounted) snug::stepping::arm(reinterpret_cast<const void*>(give), "pair", 1);
    give(heap, cells.large[g]);
    if (g < kCounted) sum += last();
  }
  return static_cast<double>(sum) / kCounted;
}

template <class Heap>
Facts find_facts(size_t large_bytes) {
  Facts facts;
  Heap heap;
  set_up(heap, large_bytes);
  if constexpr (requires { heap.statistics(); }) {
    facts.pages = heap.statistics().regions;
    facts.bytes_used = heap.statistics().bytes_used;
  }
  make_holes(heap);
  one_round(heap, large_bytes);
  if constexpr (requires { heap.index().examined(); }) {
    const uint64_t before = heap.index().examined();
    one_round(heap, large_bytes);
    facts.examined = static_cast<double>(heap.index().examined() - before) / kGroups;
  }
  facts.instructions = count_pair(heap, large_bytes);
  if constexpr (requires { heap.check(); }) {
    if (const char* const broken = heap.check()) fail(broken, 1);
  }
  tear_down(heap);
  return facts;
}

struct Version {
  const char* name;
  const char* title;
  double (*time_run)(size_t large_bytes, size_t rounds);
  Facts (*find_facts)(size_t large_bytes);
};

template <class Heap>
constexpr Version version(const char* name, const char* title) {
  return {name, title, time_run<Heap>, find_facts<Heap>};
}

constexpr std::array kVersions = {
    version<snug::CellHeap<seeds::OldPolicy>>("old", "Old version"),
    version<snug::CellHeap<seeds::WithoutThresholdPolicy>>("without", "New without threshold"),
    version<snug::CellHeap<seeds::NewPolicy>>("new", "New version"),
    version<snug::CellHeap<seeds::SnugPolicy>>("snug", "snug's default"),
    version<seeds::SnugInRegion>("region", "snug in a region"),
    version<seeds::RlsfInPool>("rlsf", "rlsf, called directly"),
    version<seeds::Malloc>("malloc", "malloc"),
};

bool is_there(const Version& version) { return seeds::Rlsf::is_there() || std::strcmp(version.name, "rlsf") != 0; }

struct Row {
  size_t rounds;
  double mean, deviation, median;  // ms
};

struct Line {
  double offset, slope;  // ms, ms a round
};

// Of the medians: one run that something else held up moves a mean, and the line with it.
Line fit(const std::vector<Row>& rows) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Row& row : rows) {
    const auto rounds = static_cast<double>(row.rounds);
    n += 1, x += rounds, y += row.median, xx += rounds * rounds, xy += rounds * row.median;
  }
  const double slope = (n * xy - x * y) / (n * xx - x * x);
  return {(y - slope * x) / n, slope};
}

Row summarize(size_t rounds, std::vector<double> times) {
  double sum = 0, squares = 0;
  for (const double ms : times) sum += ms;
  const double mean = sum / static_cast<double>(times.size());
  for (const double ms : times) squares += (ms - mean) * (ms - mean);
  std::sort(times.begin(), times.end());
  const double median = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  return {rounds, mean, std::sqrt(squares / static_cast<double>(times.size() - 1)), median};
}

struct Result {
  const Version* version;
  Facts facts;
  std::vector<Row> rows;
  double ns_a_pair() const { return fit(rows).slope * 1e6 / kGroups; }
};

void measure(std::vector<Result>& results, const Options& options) {
  for (Result& result : results) {
    result.facts = result.version->find_facts(options.large_bytes);
    result.version->time_run(options.large_bytes, kFirstRounds);
  }
  for (size_t rounds = kFirstRounds; rounds <= kLastRounds; rounds += kStepRounds) {
    std::vector<std::vector<double>> times(results.size());
    for (unsigned run = 0; run < options.runs; ++run) {
      for (size_t i = 0; i < results.size(); ++i)
        times[i].push_back(results[i].version->time_run(options.large_bytes, rounds));
    }
    for (size_t i = 0; i < results.size(); ++i) results[i].rows.push_back(summarize(rounds, times[i]));
  }
}

void print_rows(const std::vector<Result>& results) {
  for (const Result& result : results) {
    std::printf("%s (N, mean, standard deviation, median in ms)\n", result.version->title);
    for (const Row& row : result.rows)
      std::printf("%-7zu %.4f   %.4f   %.4f\n", row.rounds, row.mean, row.deviation, row.median);
    std::printf("\n");
  }
}

const Result* find(const std::vector<Result>& results, const char* name) {
  for (const Result& result : results)
    if (std::strcmp(result.version->name, name) == 0) return &result;
  return nullptr;
}

void print_summary(const std::vector<Result>& results) {
  std::printf("%-24s %8s %12s %10s %10s %6s %12s\n", "version", "ns/pair", "set-up ms", "instr/pair", "examined",
              "pages", "bytes used");
  for (const Result& result : results) {
    const Line line = fit(result.rows);
    std::printf("%-24s %8.1f %12.3f %10.1f %10.2f %6zu %12zu\n", result.version->title, result.ns_a_pair(), line.offset,
                result.facts.instructions, result.facts.examined, result.facts.pages, result.facts.bytes_used);
  }
  std::printf("%-24s 388 / 243 / 250 ns a pair (old, without threshold, new); pages 3, 4, 4\n\n", "as published");
  const Result* const old = find(results, "old");
  const Result* const without = find(results, "without");
  const Result* const now = find(results, "new");
  const Result* const ours = find(results, "snug");
  if (old != nullptr && without != nullptr)
    std::printf("bins against the scan: %.2f times (published: 1.59)\n", old->ns_a_pair() / without->ns_a_pair());
  if (old != nullptr && ours != nullptr)
    std::printf("snug's default against the scan: %.2f times\n", old->ns_a_pair() / ours->ns_a_pair());
  if (without != nullptr && now != nullptr)
    std::printf("price of the threshold: %.1f%% more instructions a pair (published: 3.1%% more time)\n",
                100 * (now->facts.instructions / without->facts.instructions - 1));
  if (now != nullptr && ours != nullptr && ours->facts.bytes_used != 0)
    std::printf("trailers on free cells only: %.1f%% fewer bytes, %zu pages instead of %zu\n",
                100 * (1 - static_cast<double>(ours->facts.bytes_used) / static_cast<double>(now->facts.bytes_used)),
                ours->facts.pages, now->facts.pages);
}

std::vector<Result> choose(const std::string& list) {
  std::vector<Result> chosen;
  if (list.empty()) {
    for (const Version& each : kVersions)
      if (is_there(each)) chosen.push_back({&each, {}, {}});
    return chosen;
  }
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, comma - at);
    const auto* const known =
        std::find_if(kVersions.begin(), kVersions.end(), [&](const Version& version) { return name == version.name; });
    if (known == kVersions.end()) fail("--versions: unknown '" + name + "' (s0_cells --help lists them)", 2);
    if (!is_there(*known)) fail("--versions: rlsf: SEEDS_RLSF names no library of it", 1);
    chosen.push_back({known, {}, {}});
    at = comma + 1;
  }
  return chosen;
}

size_t number(const std::string& option, const char* text, size_t least, size_t most) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-' || value < least || value > most)
    fail(option + ": '" + text + "' is no number from " + std::to_string(least) + " to " + std::to_string(most), 2);
  return static_cast<size_t>(value);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (word == "--summary") {
      options.rows = false;
      continue;
    }
    if (word != "--runs" && word != "--large" && word != "--versions")
      fail("unknown option '" + word + "' (s0_cells --help lists them)", 2);
    if (i + 1 == argc) fail(word + " lacks its value", 2);
    const char* const value = argv[++i];
    if (word == "--runs")
      options.runs = static_cast<unsigned>(number(word, value, 2, 100000));
    else if (word == "--large")
      options.large_bytes = number(word, value, kSmallBytes + 1, 64 << 10);
    else
      options.versions = value;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (const std::string why = seeds::Rlsf::load(); !why.empty()) fail(why, 1);
  std::vector<Result> results = choose(options.versions);
  snug::stepping::install_stepper();
  measure(results, options);
  if (options.rows) print_rows(results);
  print_summary(results);
  return 0;
}
