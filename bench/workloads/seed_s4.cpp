// seed_s4: the five loads of the bulk_alloc document: one thread, 1000 outer × 1000 inner allocations. FIX_S = 64 B,
// RAN_S = 1–1024 B, FIX_M = 1700 B; FULL frees all in allocation order; RAN draws 1000 random indices and frees what is
// not yet freed, and the next round overwrites the rest: that is a leak, as in the original, and measures fresh memory.
//
// The original's memset wrote the blocks in its first round only; both rules are run, "first" and "every". Each run is
// a child process with one std::thread, as each of the original's was, so that no run inherits another's leaks.
#include "workload.h"

#include <thread>

#include <sys/wait.h>
#include <unistd.h>

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

struct Measured {
  double ms;
  double rss_mb;
};

Measured run_in_child(const Row& row, Written written, const Options& options, uint64_t seed) {
  void* const shared = mmap(nullptr, sizeof(Measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const measured = static_cast<Measured*>(shared);
  const pid_t child = fork();
  if (child == 0) {
    const size_t before = rss_kib();
    std::thread([&] {
      const double start = now_ns();
      run(row, written, options, seed);
      measured->ms = (now_ns() - start) / 1e6;
    }).join();
    measured->rss_mb = static_cast<double>(rss_kib() - std::min(before, rss_kib())) * 1024 / 1e6;
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (status != 0) fail("the measured child");
  const Measured copy = *measured;
  munmap(shared, sizeof(Measured));
  return copy;
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("seed_s4", options);
  for (const Written written : {Written::kFirstRound, Written::kEveryRound}) {
    const std::string rule = written == Written::kFirstRound ? "first/" : "every/";
    for (const Row& row : kRows) {
      std::vector<double> ms;
      std::vector<double> rss;
      for (unsigned r = 0; r < options.rounds; ++r) {
        const Measured measured = run_in_child(row, written, options, options.seed + r);
        ms.push_back(measured.ms);
        rss.push_back(measured.rss_mb);
      }
      report.add_median(rule + row.name, ms, "ms");
      if (row.release == Release::kRandom) report.add_median(rule + row.name + "/rss", rss, "MB");
    }
  }
  report.print();
}
