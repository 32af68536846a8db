// s2_latency: Compact-fit's system latency (S2): how long a thread waits in single operations while seven others
// allocate, free and compact blocks of one size. `snug-seeds S2` runs it and judges.
#include "batch_load.h"
#include "tick_spread.h"

namespace workload {
namespace {

using seeds::BatchLoad;
using seeds::BlockName;
using seeds::CompactHeaps;
using seeds::TickSpread;

constexpr unsigned kBusyThreads = 7;
constexpr unsigned kProbe = kBusyThreads;  // the number of the thread that measures
constexpr double kMilliseconds = 50;
constexpr size_t kSmallest = 16;
constexpr size_t kHeld = 64;
constexpr size_t kMostSamples = 1 << 18;

constexpr std::array<const char*, 4> kOperations = {"smallest_alloc", "smallest_free", "alloc", "free"};
using Spreads = std::array<TickSpread::Figures, kOperations.size()>;

struct Size {
  size_t bytes;
  size_t (*draw)(Random&);
};
template <size_t kBytes>
constexpr Size kSize = {kBytes, seeds::draw_exactly<kBytes>};
constexpr Size kSizes[] = {kSize<16>, kSize<64>, kSize<256>, kSize<1024>, kSize<4096>, kSize<16384>};

// Over and over a smallest block is allocated and freed, and one of those that the thread holds is freed and allocated.
template <class Heaps>
class Probe {
 public:
  Probe(Heaps& heaps, size_t bytes) : heaps_(heaps), bytes_(bytes), spreads_{make(), make(), make(), make()} {
    for (BlockName& name : held_) name = written(heaps_.allocate(kProbe, bytes_));
  }

  void turn() {
    BlockName smallest = 0;
    time(0, [&] { smallest = heaps_.allocate(kProbe, kSmallest); });
    written(smallest);
    time(1, [&] { heaps_.free(kProbe, smallest); });
    BlockName& name = held_[turns_++ % kHeld];
    time(3, [&] { heaps_.free(kProbe, name); });
    time(2, [&] { name = heaps_.allocate(kProbe, bytes_); });
    written(name);
  }
  bool is_full() const { return spreads_[0].is_full(); }
  Spreads figures() {
    Spreads found;
    for (size_t i = 0; i < found.size(); ++i) found[i] = spreads_[i].figures();
    return found;
  }

 private:
  static TickSpread make() { return TickSpread(kMostSamples); }

  template <class Operation>
  void time(size_t which, Operation&& operation) {
    spreads_[which].add(clock_.time(operation));
  }

  BlockName written(BlockName name) {
    if (name == 0) fail("out of memory");
    const typename Heaps::Look look(heaps_, kProbe, kProbe);
    *static_cast<volatile uint64_t*>(heaps_.address(kProbe, name)) = name;
    return name;
  }

  Heaps& heaps_;
  const size_t bytes_;
  const TickClock clock_;
  std::array<TickSpread, kOperations.size()> spreads_;
  std::array<BlockName, kHeld> held_{};
  size_t turns_ = 0;
};

template <class Heaps>
Spreads run(Heaps& heaps, const Size& size, const Options& options, uint64_t seed) {
  const BatchLoad load{.blocks = 64, .buffers = 4, .draw = size.draw, .verify = options.verify};
  Probe<Heaps> probe(heaps, size.bytes);
  seeds::run_load(heaps, load, kBusyThreads, seed, [&] {
    const double end = now_ns() + kMilliseconds * 1e6 * options.scale;
    while (now_ns() < end && !probe.is_full()) probe.turn();
  });
  return probe.figures();
}

// `make()` returns fresh heaps.
template <class Make>
void measure(const std::string& name, const Size& size, const Options& options, Report& report, Make&& make) {
  std::array<std::string, kOperations.size()> prefixes;
  for (size_t i = 0; i < prefixes.size(); ++i)
    prefixes[i] = name + "/size=" + std::to_string(size.bytes) + "/" + kOperations[i];
  seeds::measure_spreads(report, prefixes, [&](uint64_t seed) { return run(*make(), size, options, seed); });
}

}  // namespace

const Program kProgram = {
    .name = "s2_latency",
    .what =
        R"(Seven threads allocate 64 blocks of one size and free 64, over and over, each with 4 such batches alive. The
eighth times single operations: of a smallest block (16 B), and of blocks of that size. On

  full/lock, full/classes   the compacting heap, kappa = 1, with one lock, or with one a class
  never/classes             the same where nothing moves
  TLSF/lock                 cells in TLSF's bins behind a mutex
  rlsf/lock                 the same on TLSF of the crate rlsf; where the variable SEEDS_RLSF names the library that
                            bench/harness/allocators/fetch tlsf builds)",
    .figures =
        R"(HEAP/size=B/OPERATION/NAME, B 16 to 16384. OPERATION: smallest_alloc, smallest_free, alloc, free. NAME:
count, and in us: mean, p50, p99, p99.9, p99.99, p99.999, max; -1: none lay beyond.)"};

void measure_all(const Options& options, Report& report) {
  if (const std::string why = seeds::Rlsf::load(); !why.empty()) fail(why.c_str());
  const struct {
    const char* name;
    size_t kappa;
    snug_compact_sharing sharing;
  } heaps[] = {{"full/lock", 1, SNUG_COMPACT_ONE_LOCK},
               {"full/classes", 1, SNUG_COMPACT_CLASS_LOCKS},
               {"never/classes", SNUG_COMPACT_NEVER, SNUG_COMPACT_CLASS_LOCKS}};
  for (const Size& size : kSizes) {
    for (const auto& [name, kappa, sharing] : heaps) {
      snug_compact_options wanted{};
      wanted.not_full = kappa;
      wanted.sharing = sharing;
      measure(name, size, options, report,
              [&] { return std::make_unique<CompactHeaps>(kBusyThreads + 1, wanted, false); });
    }
    measure("TLSF/lock", size, options, report,
            [] { return std::make_unique<seeds::PoolHeaps<seeds::CellsInPool<16>>>(kBusyThreads + 1, false); });
    if (seeds::Rlsf::is_there())
      measure("rlsf/lock", size, options, report,
              [] { return std::make_unique<seeds::PoolHeaps<seeds::Rlsf>>(kBusyThreads + 1, false); });
  }
}

}  // namespace workload
