// s2_pauses: for how long the compacting heap (S2) keeps its only thread: in a free, which may move a block, and in a
// step that is given 100 us, by kappa and by the compaction increment. `snug-seeds S2` runs it and judges.
#include "snug/compact_heap_c.h"
#include "tick_spread.h"

namespace workload {
namespace {

using seeds::TickSpread;

constexpr size_t kBlocks = 8192;
constexpr double kFrees = 120e3;
constexpr double kSlices = 1100;  // so that p99.9 is told
constexpr double kMostSliceMilliseconds = 5000;
constexpr uint64_t kSliceNs = 100'000;
constexpr size_t kKappas[] = {1, 4, 64, SNUG_COMPACT_NEVER};
constexpr size_t kIncrements[] = {64, 1024, 4096, 32768};

// Blocks of 16 B to 32 KiB, each doubling as likely as any other, which are replaced by chance. All of each is written:
// what moves was touched.
class Store {
 public:
  Store(size_t kappa, size_t increment, unsigned verify, uint64_t seed)
      : handles_(kBlocks), random_(seed), verify_(verify) {
    snug_compact_options options{};
    options.not_full = kappa;
    options.increment = increment;
    heap_ = snug_compact_create(&options);
    if (heap_ == nullptr) fail("no compacting heap");
    for (snug_handle& handle : handles_) handle = allocate();
  }
  ~Store() { snug_compact_destroy(heap_); }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Ticks of the free.
  uint32_t replace() {
    snug_handle& victim = handles_[random_.below(kBlocks)];
    if (++replaced_ % verify_ == 0) compare(victim);
    const uint32_t spent = clock_.time([&] { snug_compact_free(heap_, victim); });
    victim = allocate();
    return spent;
  }
  // Whether it left something to do.
  bool step(uint32_t* spent) {
    const snug_compact_budget budget{.nanoseconds = kSliceNs, .bytes = 0};
    int is_more_left = 0;
    *spent = clock_.time([&] { is_more_left = snug_compact_step(heap_, &budget); });
    return is_more_left != 0;
  }
  void check() const {
    if (const char* const broken = snug_compact_check(heap_)) fail(broken);
  }

 private:
  static unsigned char tag(snug_handle handle) { return static_cast<unsigned char>(handle * 37 >> 3); }
  void compare(snug_handle handle) const {
    if (*static_cast<const unsigned char*>(snug_compact_deref(heap_, handle)) != tag(handle))
      fail("a block was damaged");
  }
  snug_handle allocate() {
    const snug_handle handle = snug_compact_alloc(heap_, random_.log_between(16, 32 << 10), 0);
    if (handle == 0) fail("out of memory");
    std::memset(snug_compact_deref(heap_, handle), tag(handle), snug_compact_usable_size(heap_, handle));
    return handle;
  }

  Array<snug_handle> handles_;
  Random random_;
  const TickClock clock_;
  const unsigned verify_;
  unsigned replaced_ = 0;
  snug_compact_heap* heap_ = nullptr;
};

TickSpread::Figures time_frees(size_t kappa, size_t increment, const Options& options, uint64_t seed) {
  Store store(kappa, increment, options.verify, seed);
  for (size_t i = 0; i < kBlocks; ++i) store.replace();
  TickSpread spread(scaled(options, kFrees));
  while (!spread.is_full()) spread.add(store.replace());
  store.check();
  return spread.figures();
}

// Of the slices that use up their time: those after which something is left to do.
TickSpread::Figures time_slices(size_t kappa, size_t increment, const Options& options, uint64_t seed) {
  Store store(kappa, increment, options.verify, seed);
  TickSpread spread(scaled(options, kSlices));
  const double end = now_ns() + kMostSliceMilliseconds * 1e6 * options.scale;
  while (!spread.is_full() && now_ns() < end) {
    for (size_t i = 0; i < kBlocks / 4; ++i) store.replace();
    uint32_t spent = 0;
    while (store.step(&spent)) spread.add(spent);
  }
  store.check();
  return spread.figures();
}

std::string word(size_t kappa) { return kappa == SNUG_COMPACT_NEVER ? "inf" : std::to_string(kappa); }

}  // namespace

const Program kProgram = {
    .name = "s2_pauses",
    .what = R"(Replaces 8192 blocks of 16 B to 32 KiB by chance on the compacting heap, and times each free (which moves
blocks, if kappa is not inf); and replaces 2048 of them at a time, and compacts in steps that are given 100 us until
nothing is left to do, and times each step that used up its time.)",
    .figures = R"(free/kappa=K/increment=B/NAME, K 1, 4, 64, inf, B 64 to 32768; slice/…, K from 4 (with 1 nothing is
left to a step). NAME: count, and in us: mean, p50, p99, p99.9, p99.99, p99.999, max; -1: none lay beyond.)"};

void measure_all(const Options& options, Report& report) {
  for (const size_t kappa : kKappas) {
    for (const size_t increment : kIncrements) {
      const std::string suffix = "kappa=" + word(kappa) + "/increment=" + std::to_string(increment);
      seeds::measure_spread(report, "free/" + suffix,
                            [&](uint64_t seed) { return time_frees(kappa, increment, options, seed); });
      if (kappa == 1) continue;
      seeds::measure_spread(report, "slice/" + suffix,
                            [&](uint64_t seed) { return time_slices(kappa, increment, options, seed); });
    }
  }
}

}  // namespace workload
