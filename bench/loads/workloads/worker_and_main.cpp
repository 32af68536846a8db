// worker_and_main: the main thread fills, a worker frees every other block and ends, and the main thread frees the
// rest. The worker's half comes home through nobody's hands: stresses what a thread leaves behind that freed blocks of
// others only. Resembles a program that has a part of its data dropped by a helper.
#include "footprint.h"

namespace workload {
namespace {

struct Figures {
  double filled;
  double half_freed;
  double freed;
  double trimmed;
  double worker_ns;
  double main_ns;
};

// ns a block.
double free_every_other(Array<void*>& blocks, size_t first, size_t size, const Options& options) {
  Sampler sampler(options.verify);
  const double start = now_ns();
  for (size_t i = first; i < blocks.size(); i += 2) sampler.give(blocks[i], size);
  return 2 * (now_ns() - start) / static_cast<double>(blocks.size());
}

Figures run(size_t size, const Options& options) {
  Array<void*> blocks(scaled(options, 1e6) * 2);
  Figures figures{};
  const Footprint footprint;
  for (void*& block : blocks) block = take(size);
  figures.filled = footprint.mib();
  std::thread([&] { figures.worker_ns = free_every_other(blocks, 0, size, options); }).join();
  figures.half_freed = footprint.mib();
  figures.main_ns = free_every_other(blocks, 1, size, options);
  figures.freed = footprint.mib();
  trim_heap();
  figures.trimmed = footprint.mib();
  return figures;
}

}  // namespace

const Program kProgram = {
    .name = "worker_and_main",
    .what =
        R"(The main thread fills 2 million blocks, a worker frees every other one and ends, and the main thread frees the
rest. Each round runs in a child process. Shows whether the two halves of a page come together again.)",
    .figures =
        R"(filled, half_freed, freed, trimmed (after malloc_trim, where the allocator has one): MiB of anonymous memory
at each stage, without the array of addresses; worker, main: ns a free of each.)",
    .sizes = "128",
    .defaults = {.rounds = 1}};

void measure_all(const Options& options, Report& report) {
  const size_t size = options.sizes_or({128})[0];
  const Report::Figure figures[] = {{"filled", "MiB"},  {"half_freed", "MiB"}, {"freed", "MiB"},
                                    {"trimmed", "MiB"}, {"worker", "ns"},      {"main", "ns"}};
  report.measure(figures, [&](uint64_t) {
    const Figures of = in_child([&] { return run(size, options); });
    return std::array{of.filled, of.half_freed, of.freed, of.trimmed, of.worker_ns, of.main_ns};
  });
}

}  // namespace workload
