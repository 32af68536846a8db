// seed_s4: the five loads of bulk_alloc's table (docs/seeds.md, S4): one thread, 1000 outer × 1000 inner allocations.
// FIX_S = 64 B, RAN_S = 1–1024 B, FIX_M = 1700 B; FULL frees all in allocation order; RAN draws 1000 random indices and
// frees what is not yet freed, and the next round overwrites the rest: that is a leak, as in the original, and measures
// fresh memory.
//
// The original's memset wrote the blocks in its first round only; both rules are run, "first" and "every". Each run is
// a child process with one std::thread, as each of the original's was, so that no run inherits another's leaks.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kOuter = 1000;
constexpr size_t kInner = 1000;

enum class Sizes { kFixedSmall, kRandomSmall, kFixedMedium };
enum class Release { kFull, kRandom };
enum class Written { kFirstRound, kEveryRound };

struct Row {
  const char* name;
  Sizes sizes;
  Release release;
};

constexpr Row kRows[] = {{"FIX_S+FULL", Sizes::kFixedSmall, Release::kFull},
                         {"FIX_S+RAN", Sizes::kFixedSmall, Release::kRandom},
                         {"RAN_S+RAN", Sizes::kRandomSmall, Release::kRandom},
                         {"RAN_S+FULL", Sizes::kRandomSmall, Release::kFull},
                         {"FIX_M+FULL", Sizes::kFixedMedium, Release::kFull}};

size_t size_of(Sizes sizes, Random& random) {
  switch (sizes) {
    case Sizes::kFixedSmall:
      return 64;
    case Sizes::kRandomSmall:
      return random.between(1, 1024);
    case Sizes::kFixedMedium:
      return 1700;
  }
  return 0;
}

void write_all(void* block, size_t size) { std::memset(block, 1, size); }

void run(const Row& row, Written written, const Options& options, uint64_t seed) {
  // The random numbers are drawn before, or drawing them would be a third of the time.
  static size_t sizes[kInner];
  static uint32_t draws[kInner];
  static void* blocks[kInner];
  Random random(seed);
  for (size_t& size : sizes) size = size_of(row.sizes, random);
  const size_t outer = scaled(options, kOuter);
  for (size_t round = 0; round < outer; ++round) {
    for (uint32_t& draw : draws) draw = static_cast<uint32_t>(random.below(kInner));
    for (size_t i = 0; i < kInner; ++i) {
      void* const block = std::malloc(sizes[i]);
      if (block == nullptr) fail("out of memory");
      if (written == Written::kEveryRound || round == 0) write_all(block, sizes[i]);
      blocks[i] = block;
    }
    if (row.release == Release::kFull) {
      for (size_t i = 0; i < kInner; ++i) {
        if (written == Written::kEveryRound && i % options.verify == 0 && *static_cast<char*>(blocks[i]) != 1) {
          fail("a block was damaged");
        }
        std::free(blocks[i]);
      }
    } else {
      for (const uint32_t i : draws) {
        std::free(blocks[i]);
        blocks[i] = nullptr;
      }
    }
  }
}

// ms, and MB of resident memory at the end.
std::array<double, 2> run_measured(const Row& row, Written written, const Options& options, uint64_t seed) {
  const size_t before = rss_kib();
  double ms = 0;
  std::thread([&] {
    const double start = now_ns();
    run(row, written, options, seed);
    ms = (now_ns() - start) / 1e6;
  }).join();
  const size_t after = rss_kib();
  return {ms, static_cast<double>(after - std::min(before, after)) * 1024 / 1e6};
}

}  // namespace

const Program kProgram = {
    .name = "seed_s4",
    .what =
        R"(The five loads of bulk_alloc's published table: one thread allocates 1000 blocks a thousand times, of 64 B (FIX_S), 1
to 1024 B (RAN_S) or 1700 B (FIX_M), and frees all in order (FULL) or 1000 random draws (RAN), where the rest
leaks. The blocks are written in the first round only, as in the original, or in every round. Each run is a
child process of its own.)",
    .figures = "first/LOAD, every/LOAD: ms; of the RAN loads /rss too: MB of resident memory at the end."};

void measure_all(const Options& options, Report& report) {
  for (const Written written : {Written::kFirstRound, Written::kEveryRound}) {
    for (const Row& row : kRows) {
      const std::string name = (written == Written::kFirstRound ? "first/" : "every/") + std::string(row.name);
      const auto round = [&](uint64_t seed) {
        return in_child([&] { return run_measured(row, written, options, seed); });
      };
      if (row.release == Release::kRandom) {
        const Report::Figure figures[] = {{name, "ms"}, {name + "/rss", "MB"}};
        report.measure(figures, round);
      } else {
        report.measure(name, "ms", [&](uint64_t seed) { return round(seed)[0]; });
      }
    }
  }
}

}  // namespace workload
