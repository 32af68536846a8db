// s2_traces: allocation traces replayed on the compacting heap, on cells in TLSF's bins and on malloc, for the tables
// of Compact-fit (S2) on memory, ticks an operation and throughput. `snug-seeds S2` runs it and judges.
#include <fnmatch.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "replay.h"

namespace seeds {

const char* const kProgramName = "s2_traces";

namespace {

constexpr const char* kHelp = R"(usage: s2_traces [--OPTION VALUE]... TRACE...

Replays allocation traces (bench/loads/programs) on heaps: what memory they take, what malloc and free cost in ticks, and how many
operations a second they do. A TRACE is a file of lines a<TAB>key<TAB>bytes, f<TAB>key, r<TAB>old key<TAB>key<TAB>bytes;
.gz is unpacked, - is standard input.

Heaps: CF16/K, CF32/K   the compacting heap with Compact-fit's classes from 16 and 32 B, with handles; K: pages of a class
                        that may have a free block, 1, 2, 4, 8, 16, 64, or inf: nothing moves
       CF16/direct …    the same without handles: Compact-fit's "optimized, non-compacting"
       TLSF/8, TLSF/16  snug's cells in TLSF's bins, rounded to 8 and 16 B, in the smallest pool that serves the trace
       rlsf             TLSF of the crate rlsf, in such a pool; where the variable SEEDS_RLSF names the library that
                        bench/harness/allocators/fetch tlsf builds
       cells            snug's cells on pages of 64 KiB, of which empty ones go back
       malloc           the process's: preload any
Figures: TRACE/HEAP/NAME, NAME one of
  peak, end                     bytes: all that the heap took from the OS (replay_heaps.h says exactly what counts)
  requested, requested_at_end   bytes: the program's, at the peak of the heap's memory and at the end
  not_full, not_full_at_end, most_not_full
                                bytes: free blocks in pages that are not full, at the peak, the end, the worst moment
  rounding, tails, spare, handles, records
                                bytes: at the peak, the other parts of the compacting heap's memory
  resident                      bytes: growth of the process at its peak, with every page of every block written; what the
                                heap counts should be about that (a pool of cells is not touched as a whole)
  moves                         of blocks, in the whole trace
  malloc_average, malloc_max, free_average, free_max
                                ticks of rdtsc, the clock's own cost taken off, the first 10 left out
  throughput                    M/s: operations a second, the first word of each block written

  --rounds N       of the ticks and the throughput; their median is told (default 5)
  --scale X        replay that share of each trace (default 1)
  --seed N         of the order in which heaps take turns (default 1)
  --only GLOB,...  only the figures with names that match
  --pool HEAP=B    gives the heap a pool of B bytes, without a search for the smallest
  --verify         instead: fill each block with a pattern, compare it when it is freed, and end

Prints a table, then one line of JSON. Exit status: 0, 1 if a heap fails or damages a block, 2 wrong usage or no trace.
)";

struct Options {
  unsigned rounds = 5;
  double scale = 1;
  uint64_t seed = 1;
  std::string only = "*";
  bool verifies = false;
  std::map<std::string, uint64_t> pools;
  std::vector<std::string> traces;
};

constexpr std::array kNamesOfMemory = {
    "peak",     "end",   "requested", "requested_at_end", "not_full", "not_full_at_end", "most_not_full",
    "rounding", "tails", "spare",     "handles",          "records",  "resident",        "moves"};
constexpr std::array kNamesOfTicks = {"malloc_average", "malloc_max", "free_average", "free_max"};
constexpr std::array kNamesOfWhole = {"throughput"};

struct Task {
  const ReplayTrace& trace;
  size_t steps;
  uint64_t pool = 0;  // of heaps that take one
};

template <class T>
using Replay = std::function<T(const Task&)>;

struct Contestant {
  std::string name;
  Replay<uint64_t> find_pool;  // of heaps that take one
  Replay<MemoryResult> measure_memory;
  Replay<TickResult> time_steps;
  Replay<double> time_whole;
  Replay<uint64_t> verify;
};

// What work() returns, in a child: each replay begins with a fresh heap. A child that fails has said why.
template <typename Work>
auto in_child(Work&& work) {
  using Result = decltype(work());
  void* const shared = mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("no memory for a result");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    *static_cast<Result*>(shared) = work();
    std::exit(0);  // in the ordinary way, so that an allocator reports on this process too
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) < 0) fail("no process to replay in");
  if (WIFSIGNALED(status)) fail("a replay was killed by signal " + std::to_string(WTERMSIG(status)));
  if (status != 0) std::exit(1);
  const Result result = *static_cast<Result*>(shared);
  munmap(shared, sizeof(Result));
  return result;
}

// `make(task)` returns a fresh heap.
template <class Make>
Contestant contestant(std::string name, Make make, Replay<uint64_t> find_pool = nullptr) {
  return {std::move(name),
          std::move(find_pool),
          [=](const Task& task) {
            const SlotTable<uint32_t> bytes_of(task.trace.slots());
            const ResidentGrowth growth;
            const auto heap = make(task);
            MemoryResult result = measure_memory(*heap, task.trace, task.steps, bytes_of);
            const uint64_t table = task.trace.slots() * sizeof(void*);
            result.resident = std::max(growth.peak(), table) - table;
            return result;
          },
          [=](const Task& task) { return time_steps(*make(task), task.trace, task.steps); },
          [=](const Task& task) { return time_whole(*make(task), task.trace, task.steps); },
          [=](const Task& task) { return verify(*make(task), task.trace, task.steps); }};
}

template <class Heap>
Contestant plain(const char* name) {
  return contestant(name, [](const Task& task) { return std::make_unique<Heap>(task.trace); });
}

template <class Heap>
Contestant in_pool(const char* name) {
  return contestant(
      name, [](const Task& task) { return std::make_unique<Heap>(task.trace, task.pool); },
      [](const Task& task) { return find_pool<Heap>(task.trace, task.steps); });
}

std::vector<Contestant> make_contestants() {
  std::vector<Contestant> all;
  for (const snug_compact_map map : {SNUG_COMPACT_CF16, SNUG_COMPACT_CF32}) {
    const std::string name = map == SNUG_COMPACT_CF16 ? "CF16/" : "CF32/";
    snug_compact_options options{};
    options.map = map;
    for (const size_t kappa :
         {size_t{1}, size_t{2}, size_t{4}, size_t{8}, size_t{16}, size_t{64}, SNUG_COMPACT_NEVER}) {
      options.not_full = kappa;
      all.push_back(contestant(name + (kappa == SNUG_COMPACT_NEVER ? "inf" : std::to_string(kappa)),
                               [=](const Task& task) { return std::make_unique<OnHandles>(task.trace, options); }));
    }
    options.direct = 1;
    all.push_back(
        contestant(name + "direct", [=](const Task& task) { return std::make_unique<OnDirect>(task.trace, options); }));
  }
  all.push_back(in_pool<OnPool<CellsInPool<8>>>("TLSF/8"));
  all.push_back(in_pool<OnPool<CellsInPool<16>>>("TLSF/16"));
  if (Rlsf::is_there()) all.push_back(in_pool<OnPool<Rlsf>>("rlsf"));
  all.push_back(plain<OnPagedCells>("cells"));
  all.push_back(plain<OnMalloc>("malloc"));
  return all;
}

bool matches(const std::string& name, const std::string& globs) {
  for (size_t at = 0; at <= globs.size();) {
    const size_t comma = std::min(globs.find(',', at), globs.size());
    if (fnmatch(globs.substr(at, comma - at).c_str(), name.c_str(), 0) == 0) return true;
    at = comma + 1;
  }
  return false;
}

// The figures, one JSON line of them at the end; of each the values of all rounds.
class Figures {
 public:
  explicit Figures(const Options& options) : options_(options) {}

  template <size_t N>
  bool wants(const std::string& prefix, const std::array<const char*, N>& names) const {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return matches(prefix + name, options_.only); });
  }

  void add(const std::string& name, double value, const char* unit) {
    if (!matches(name, options_.only)) return;
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& each) { return each.name == name; });
    (row != rows_.end() ? *row : rows_.emplace_back(Row{name, unit, {}})).values.push_back(value);
  }

  // NaN if it was not wanted.
  double median(const std::string& name) const {
    for (const Row& row : rows_)
      if (row.name == name) return median_of(row.values);
    return std::nan("");
  }

  bool empty() const { return rows_.empty(); }

  void print() const {
    std::printf("{\"workload\":\"%s\",\"seed\":%llu,\"rounds\":%u,\"scale\":%g,\"results\":[", kProgramName,
                static_cast<unsigned long long>(options_.seed), options_.rounds, options_.scale);
    const char* separator = "";
    for (const Row& row : rows_) {
      std::printf("%s{\"name\":\"%s\",\"value\":%.4f,\"unit\":\"%s\"}", separator, row.name.c_str(),
                  median_of(row.values), row.unit);
      separator = ",";
    }
    std::printf("]}\n");
  }

 private:
  struct Row {
    std::string name;
    const char* unit;
    std::vector<double> values;
  };
  static double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  const Options& options_;
  std::vector<Row> rows_;
};

void add_memory(Figures& figures, const std::string& prefix, const MemoryResult& found) {
  const HeapMemory& peak = found.peak;
  const uint64_t rounding = peak.blocks != 0 ? peak.blocks - found.requested_at_peak : 0;
  const std::pair<const char*, uint64_t> bytes[] = {{"peak", peak.total},
                                                    {"end", found.end.total},
                                                    {"requested", found.requested_at_peak},
                                                    {"requested_at_end", found.requested_at_end},
                                                    {"not_full", peak.not_full},
                                                    {"not_full_at_end", found.end.not_full},
                                                    {"most_not_full", found.most_not_full},
                                                    {"rounding", rounding},
                                                    {"tails", peak.tails},
                                                    {"spare", peak.spare},
                                                    {"handles", peak.handles},
                                                    {"records", peak.records},
                                                    {"resident", found.resident}};
  for (const auto& [name, value] : bytes) figures.add(prefix + name, static_cast<double>(value), "B");
  figures.add(prefix + "moves", static_cast<double>(found.end.moves), "1");
}

void add_ticks(Figures& figures, const std::string& prefix, const TickResult& found) {
  figures.add(prefix + "malloc_average", found.allocations.average(), "ticks");
  figures.add(prefix + "malloc_max", static_cast<double>(found.allocations.most), "ticks");
  figures.add(prefix + "free_average", found.frees.average(), "ticks");
  figures.add(prefix + "free_max", static_cast<double>(found.frees.most), "ticks");
}

// With the heap's pool, if it takes one.
Task task_for(const Contestant& each, const ReplayTrace& trace, size_t steps, const Options& options) {
  Task task{trace, steps};
  const auto given = options.pools.find(each.name);
  if (given != options.pools.end())
    task.pool = given->second;
  else if (each.find_pool)
    task.pool = in_child([&] { return each.find_pool(task); });
  return task;
}

void measure_once(const Contestant& each, const Task& task, bool with_memory, Figures& figures) {
  const std::string prefix = task.trace.name() + "/" + each.name + "/";
  const auto replay = [&](const auto& how) {
    return in_child([&] {
      task.trace.touch();
      return how(task);
    });
  };
  if (with_memory && figures.wants(prefix, kNamesOfMemory)) add_memory(figures, prefix, replay(each.measure_memory));
  if (figures.wants(prefix, kNamesOfTicks)) add_ticks(figures, prefix, replay(each.time_steps));
  if (figures.wants(prefix, kNamesOfWhole)) figures.add(prefix + "throughput", replay(each.time_whole), "M/s");
}

void measure(const ReplayTrace& trace, size_t steps, const Options& options, const std::vector<Contestant>& all,
             Figures& figures) {
  std::vector<std::pair<const Contestant*, Task>> order;
  for (const Contestant& each : all) order.emplace_back(&each, task_for(each, trace, steps, options));
  std::mt19937_64 random(options.seed);
  std::vector<size_t> turns(order.size());
  std::iota(turns.begin(), turns.end(), size_t{0});
  for (unsigned round = 0; round < options.rounds; ++round) {
    std::shuffle(turns.begin(), turns.end(), random);
    for (const size_t turn : turns) measure_once(*order[turn].first, order[turn].second, round == 0, figures);
  }
}

void print_table(const ReplayTrace& trace, size_t steps, const std::vector<Contestant>& all, const Figures& figures) {
  std::printf("%s: %zu operations, %zu blocks at most; memory in MiB, ticks an operation\n", trace.name().c_str(),
              steps, trace.slots());
  std::printf("%-12s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "heap", "peak", "end", "requested", "not full",
              "malloc", "max", "free", "max", "M/s", "moves");
  constexpr double kMebi = 1 << 20;
  for (const Contestant& each : all) {
    std::printf("%-12s", each.name.c_str());
    const auto print = [&](const char* name, int places, double unit = 1) {
      const double value = figures.median(trace.name() + "/" + each.name + "/" + name) / unit;
      if (std::isnan(value))
        std::printf(" %9s", "-");
      else
        std::printf(" %9.*f", places, value);
    };
    for (const char* const name : {"peak", "end", "requested"}) print(name, 2, kMebi);
    print("not_full", 3, kMebi);
    for (const char* const name : kNamesOfTicks) print(name, 0);
    print("throughput", 2);
    print("moves", 0);
    std::printf("\n");
  }
}

void run(const Options& options) {
  if (const std::string why = Rlsf::load(); !why.empty()) fail(why);
  std::vector<Contestant> all = make_contestants();
  Figures figures(options);
  for (const std::string& path : options.traces) {
    const ReplayTrace trace(path);
    const auto steps = static_cast<size_t>(static_cast<double>(trace.size()) * options.scale);
    std::vector<Contestant> wanted;
    for (const Contestant& each : all) {
      const std::string prefix = trace.name() + "/" + each.name + "/";
      if (figures.wants(prefix, kNamesOfMemory) || figures.wants(prefix, kNamesOfTicks) ||
          figures.wants(prefix, kNamesOfWhole))
        wanted.push_back(each);
    }
    if (!options.verifies) {
      measure(trace, steps, options, wanted, figures);
      print_table(trace, steps, wanted, figures);
      continue;
    }
    for (const Contestant& each : wanted) {
      const Task task = task_for(each, trace, steps, options);
      const uint64_t compared = in_child([&] { return each.verify(task); });
      std::printf("%s/%s: %zu operations, %llu bytes compared\n", trace.name().c_str(), each.name.c_str(), steps,
                  static_cast<unsigned long long>(compared));
    }
  }
  if (options.verifies) return;
  if (figures.empty()) refuse("--only: no figure is called '" + options.only + "'");
  figures.print();
}

void add_pool(Options& options, const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) refuse("--pool: '" + text + "' is no HEAP=BYTES");
  options.pools[text.substr(0, equals)] = number("--pool", text.c_str() + equals + 1, 1 << 16, uint64_t{1} << 38);
}

Options parse(int argc, char** argv) {
  Options options;
  for_each_argument(argc, argv, kHelp, [&](const std::string& word, auto next) {
    if (word == "--verify")
      options.verifies = true;
    else if (word == "-" || !word.starts_with("-"))
      options.traces.push_back(word);
    else if (word == "--rounds")
      options.rounds = static_cast<unsigned>(number(word, next(), 1, 1000));
    else if (word == "--scale")
      options.scale = fraction(word, next());
    else if (word == "--seed")
      options.seed = number(word, next(), 0, UINT64_MAX);
    else if (word == "--only")
      options.only = next();
    else if (word == "--pool")
      add_pool(options, next());
    else
      refuse("unknown option '" + word + "'");
  });
  if (options.traces.empty()) refuse("no TRACE");
  return options;
}

}  // namespace
}  // namespace seeds

int main(int argc, char** argv) { seeds::run(seeds::parse(argc, argv)); }
