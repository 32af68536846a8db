// owners_asleep: threads allocate and sleep, and one thread frees all that they have. The owners take nothing back
// until they wake, which is never here: stresses what an allocator can do for memory with an idle owner. Resembles a
// pool of workers that answered a wave of requests, and another thread that drops the results.
#include "footprint.h"

namespace workload {
namespace {

constexpr double kBlocks = 2e6;    // of all threads
constexpr size_t kStretches = 32;  // of frees, between which memory is looked at

enum class Order { kRandom, kSequential, kTurns };

struct Figures {
  double filled;
  double highest;
  double freed;
  double trimmed;
  double free_ns;
};

Figures run(Order order, size_t size, const Options& options, uint64_t seed) {
  const size_t each = std::max<size_t>(1, scaled(options, kBlocks) / options.threads);
  Array<void*> blocks(each * options.threads);
  Figures figures{};
  const auto fill = [&](unsigned t) {
    for (size_t i = 0; i < each; ++i)
      blocks[order == Order::kTurns ? i * options.threads + t : t * each + i] = take(size);
  };
  const auto free_all = [&](const Footprint& footprint) {
    figures.filled = figures.highest = footprint.mib();
    Random random(seed);
    if (order == Order::kRandom) shuffle(blocks, random);
    Sampler sampler(options.verify);
    const size_t stretch = blocks.size() / kStretches + 1;
    double ns = 0;
    for (size_t begin = 0; begin < blocks.size(); begin += stretch) {
      const size_t end = std::min(begin + stretch, blocks.size());
      const double start = now_ns();
      for (size_t i = begin; i < end; ++i) sampler.give(blocks[i], size);
      ns += now_ns() - start;
      figures.freed = footprint.mib();
      figures.highest = std::max(figures.highest, figures.freed);
    }
    figures.free_ns = ns / static_cast<double>(blocks.size());
    trim_heap();
    figures.trimmed = footprint.mib();
  };
  run_and_sleep(options.threads, fill, free_all);
  return figures;
}

}  // namespace

const Program kProgram = {
    .name = "owners_asleep",
    .what =
        R"(--threads allocate 2 million blocks between them and sleep; the main thread frees all. The blocks come in a random
order, in that of allocation, one owner after the other (sequential), or one of each owner in turn (turns). Each round
runs in a child process. Shows what becomes of memory of an idle owner.)",
    .figures =
        R"(ORDER/STAGE: MiB of anonymous memory, filled, the highest seen 32 times while blocks are freed, freed, and
trimmed: after malloc_trim, where the allocator has one; without the array of addresses and the stacks.
ORDER/free: ns a block.)",
    .sizes = "64",
    .threads = "threads that own blocks and sleep",
    .defaults = {.threads = 8, .rounds = 1}};

void measure_all(const Options& options, Report& report) {
  const size_t size = options.sizes_or({64})[0];
  for (const auto& [name, order] : {std::pair<std::string, Order>{"random/", Order::kRandom},
                                    {"sequential/", Order::kSequential},
                                    {"turns/", Order::kTurns}}) {
    const Report::Figure figures[] = {{name + "filled", "MiB"},
                                      {name + "highest", "MiB"},
                                      {name + "freed", "MiB"},
                                      {name + "trimmed", "MiB"},
                                      {name + "free", "ns"}};
    report.measure(figures, [&](uint64_t seed) {
      const Figures of = in_child([&] { return run(order, size, options, seed); });
      return std::array{of.filled, of.highest, of.freed, of.trimmed, of.free_ns};
    });
  }
}

}  // namespace workload
