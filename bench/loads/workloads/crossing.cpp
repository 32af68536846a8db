// crossing: each thread allocates 2000 blocks, swaps each into a random slot of a table that all share, and frees the
// 2000 that it got out, over and over. With n threads, (n-1)/n of the frees are remote, of blocks from many owners in
// no order. Stresses the way home of such a mixture. Resembles rbstress and a hash table that many threads refill.
// (swap has two sizes and frees at once what it takes out.)
#include "footprint.h"
#include "slots.h"

namespace workload {
namespace {

constexpr size_t kBlocks = 2000;  // that a thread moves at a time; the table has as many slots for each thread

struct Figures {
  double ns;
  double rss;
};

Figures run(const Options& options, uint64_t seed) {
  Array<Slot> table(kBlocks * options.threads);
  Array<Sized> hands(kBlocks * options.threads);
  const size_t crossings = scaled(options, 1000);
  Figures figures{};
  const auto cross = [&](unsigned t) {
    Random random(seed * 1000 + t);
    Sampler sampler(options.verify);
    Sized* const hand = &hands[kBlocks * t];
    for (size_t left = crossings; left != 0; --left) {
      for (size_t i = 0; i < kBlocks; ++i)
        hand[i] = Sized::take(options.size != 0 ? options.size : random.log_between(16, 1024));
      for (size_t i = 0; i < kBlocks; ++i) hand[i] = table[random.below(table.size())].exchange(hand[i]);
      for (size_t i = 0; i < kBlocks; ++i) hand[i].give(sampler);
      std::this_thread::yield();  // so that blocks of threads that share a processor mix as well
    }
  };
  const double ns =
      run_and_sleep(options.threads, cross, [&](const Footprint& footprint) { figures.rss = footprint.mib(); });
  figures.ns = ns / static_cast<double>(crossings * kBlocks * options.threads);
  Sampler sampler(options.verify);
  for (Slot& slot : table) slot.load().give(sampler);
  return figures;
}

}  // namespace

const Program kProgram = {
    .name = "crossing",
    .what =
        R"(Each thread allocates 2000 blocks of mixed sizes, swaps each into a random slot of a shared table and frees the
2000 that came out, over and over. Each round runs in a child process. Shows remote frees of many owners' blocks.)",
    .figures =
        R"(pair: ns for a malloc, the swap and a free, over all threads; rss: MiB of anonymous memory at the end, while
the table is full and all threads sleep, without the arrays of addresses and the stacks.)",
    .sizes = "mixed: 16 to 1024, log-uniform",
    .threads = "threads",
    .defaults = {.threads = 2, .rounds = 3}};

void measure_all(const Options& options, Report& report) {
  const Report::Figure figures[] = {{"pair", "ns"}, {"rss", "MiB"}};
  report.measure(figures, [&](uint64_t seed) {
    const Figures of = in_child([&] { return run(options, seed); });
    return std::array{of.ns, of.rss};
  });
}

}  // namespace workload
