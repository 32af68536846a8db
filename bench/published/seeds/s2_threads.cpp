// s2_threads: Compact-fit's random load (S2) on one to eight threads: throughput by the way in which they share a heap,
// what they wait for, and throughput by the compaction increment. `snug-seeds S2` runs it and judges.
#include "batch_load.h"

namespace workload {
namespace {

using seeds::BatchLoad;
using seeds::CompactHeaps;
using seeds::HeapCounts;

constexpr unsigned kMostThreads = 8;
constexpr double kMilliseconds = 25;
constexpr size_t kUnbounded = 64 << 10;  // no block that moves is as long

// throughput, and waits of heap, classes, handles and pages for 10^6 operations.
using Figures = std::array<double, 5>;

template <class Heaps>
Figures run(Heaps& heaps, BatchLoad load, unsigned threads, const Options& options, uint64_t seed) {
  load.verify = options.verify;
  const seeds::LoadResult result =
      seeds::run_load(heaps, load, threads, seed, [&] { seeds::sleep_ns(kMilliseconds * 1e6 * options.scale); });
  const double millions = std::max(result.operations, 1.0) / 1e6;
  const auto waits = [&](uint64_t HeapCounts::* of) {
    return static_cast<double>(result.after.*of - result.before.*of) / millions;
  };
  return {result.operations / result.ns * 1e3, waits(&HeapCounts::waits_heap), waits(&HeapCounts::waits_classes),
          waits(&HeapCounts::waits_handles), waits(&HeapCounts::waits_pages)};
}

// `make()` returns fresh heaps.
template <class Make>
void measure(const std::string& name, const BatchLoad& load, unsigned threads, const Options& options, Report& report,
             Make&& make) {
  const std::string prefix = "threads=" + std::to_string(threads) + "/" + name + "/";
  const Report::Figure figures[] = {{prefix + "throughput", "M/s"},
                                    {prefix + "waits_heap", "1"},
                                    {prefix + "waits_classes", "1"},
                                    {prefix + "waits_handles", "1"},
                                    {prefix + "waits_pages", "1"}};
  report.measure(figures,
                 [&](uint64_t seed) { return in_child([&] { return run(*make(), load, threads, options, seed); }); });
}

void measure_compact(const std::string& name, const BatchLoad& load, unsigned threads, const Options& options,
                     Report& report, const snug_compact_options& wanted, bool one_each) {
  measure(name, load, threads, options, report,
          [&] { return std::make_unique<CompactHeaps>(threads, wanted, one_each); });
}

snug_compact_options compact_options(size_t kappa, snug_compact_sharing sharing) {
  snug_compact_options options{};
  options.not_full = kappa;
  options.map = SNUG_COMPACT_CF16;
  options.sharing = sharing;
  return options;
}

constexpr std::pair<const char*, size_t> kKappas[] = {{"full", 1}, {"never", SNUG_COMPACT_NEVER}};

template <class Tlsf>
void measure_pools(const std::string& name, unsigned threads, const Options& options, Report& report) {
  for (const bool one_each : {false, true}) {
    measure(name + (one_each ? "/private" : "/lock"), seeds::kMixed, threads, options, report,
            [&] { return std::make_unique<seeds::PoolHeaps<Tlsf>>(threads, one_each); });
  }
}

void measure_heaps(unsigned threads, const Options& options, Report& report) {
  for (const auto& [name, kappa] : kKappas) {
    const std::string prefix = std::string(name) + "/";
    const auto on = [&](const char* how, snug_compact_sharing sharing, bool one_each) {
      measure_compact(prefix + how, seeds::kMixed, threads, options, report, compact_options(kappa, sharing), one_each);
    };
    on("lock", SNUG_COMPACT_ONE_LOCK, false);
    on("classes", SNUG_COMPACT_CLASS_LOCKS, false);
    on("cores", SNUG_COMPACT_CORES, false);
    on("private", SNUG_COMPACT_ONE_THREAD, true);
  }
  measure_pools<seeds::CellsInPool<16>>("TLSF", threads, options, report);
  if (seeds::Rlsf::is_there()) measure_pools<seeds::Rlsf>("rlsf", threads, options, report);
  measure("malloc", seeds::kMixed, threads, options, report, [] { return std::make_unique<seeds::MallocHeaps>(); });
}

// Each thread has a heap of its own, which others may free in; or each core.
void measure_sharing(unsigned threads, const Options& options, Report& report) {
  for (const auto& [name, kappa] : kKappas) {
    for (const unsigned every : {0u, 8u, 2u, 1u}) {
      BatchLoad load = seeds::kMixed;
      load.every = every;
      const std::string sharing = "sharing=" + (every == 0 ? "none" : std::to_string(every));
      const std::string prefix = std::string(name) + "/";
      measure_compact(prefix + sharing, load, threads, options, report, compact_options(kappa, SNUG_COMPACT_ONE_LOCK),
                      true);
      measure_compact(prefix + "cores/" + sharing, load, threads, options, report,
                      compact_options(kappa, SNUG_COMPACT_CORES), false);
    }
  }
}

void measure_increments(unsigned threads, const Options& options, Report& report) {
  for (const bool is_large : {false, true}) {
    for (const size_t increment :
         {size_t{16}, size_t{64}, size_t{256}, size_t{1024}, size_t{4096}, size_t{32768}, kUnbounded}) {
      snug_compact_options wanted = compact_options(1, SNUG_COMPACT_CLASS_LOCKS);
      wanted.increment = increment;
      if (is_large) wanted.map = SNUG_COMPACT_FINE;
      measure_compact(std::string(is_large ? "large" : "mixed") +
                          "/increment=" + (increment == kUnbounded ? "none" : std::to_string(increment)),
                      is_large ? seeds::kLarge : seeds::kMixed, threads, options, report, wanted, false);
    }
  }
}

}  // namespace

const Program kProgram = {
    .name = "s2_threads",
    .what =
        R"(Threads that allocate 512 blocks and free 512 blocks, over and over, each with 32 such batches alive; 96% of the
blocks have 32 to 63 bytes (large: 64 blocks of 512 B to 32 KiB, 4 batches). On

  full/…            the compacting heap, kappa = 1, classes of Compact-fit from 16 B
  never/…           the same where nothing moves
    lock, classes     one heap, with one lock, or with one a class
    cores             one that has a heap for each core
    private           a heap for each thread, without locks
    sharing=S         a heap for each thread, with a lock; every S-th batch that is freed is the next thread's
    cores/sharing=S   the same with a heap for each core
  TLSF/…            cells in TLSF's bins: one heap behind a mutex (lock), or a heap for each thread (private)
  rlsf/…            the same on TLSF of the crate rlsf; where the variable SEEDS_RLSF names the library that
                    bench/harness/allocators/fetch tlsf builds
  malloc            the process's: preload any
  mixed/increment=B the compacting heap with locks a class, moves in parts of B bytes, 16 to 32768, or whole (none)
  large/increment=B the same on large blocks, with the heap's own classes)",
    .figures =
        R"(threads=1/HEAP/NAME to threads=8/…; sharing of 1, 2, 4, 8 threads, increments of 1, 8. throughput: M/s,
operations a second; waits_heap, waits_classes, waits_handles, waits_pages: how often a thread had to wait for a lock of
that level, for 10^6 operations.)"};

void measure_all(const Options& options, Report& report) {
  if (const std::string why = seeds::Rlsf::load(); !why.empty()) fail(why.c_str());
  for (unsigned threads = 1; threads <= kMostThreads; ++threads) measure_heaps(threads, options, report);
  for (const unsigned threads : {1u, 2u, 4u, 8u}) measure_sharing(threads, options, report);
  for (const unsigned threads : {1u, kMostThreads}) measure_increments(threads, options, report);
}

}  // namespace workload
