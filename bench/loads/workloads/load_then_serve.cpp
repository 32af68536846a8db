// load_then_serve: the main thread fills and sleeps; a worker frees all of it and then allocates as much, which it
// keeps. The freed memory is of a heap with an idle owner: stresses whether another thread can have it, or the process
// pays for it twice. Resembles a server that loads its data at the start, and has workers that replace all of it.
#include "footprint.h"

namespace workload {
namespace {

struct Figures {
  double filled;
  double freed;
  double served;
  double trimmed;
  double fill_ns;
  double free_ns;
  double serve_ns;
};

// ns a block.
double fill(Array<void*>& blocks, size_t size) {
  const double start = now_ns();
  for (void*& block : blocks) block = take(size);
  return (now_ns() - start) / static_cast<double>(blocks.size());
}

double free_all(Array<void*>& blocks, size_t size, const Options& options) {
  Sampler sampler(options.verify);
  const double start = now_ns();
  for (void* block : blocks) sampler.give(block, size);
  return (now_ns() - start) / static_cast<double>(blocks.size());
}

Figures run(size_t size, const Options& options) {
  Array<void*> blocks(scaled(options, 4e6));
  Figures figures{};
  const Footprint footprint;
  figures.fill_ns = fill(blocks, size);
  figures.filled = footprint.mib();
  std::thread([&] {
    figures.free_ns = free_all(blocks, size, options);
    figures.freed = footprint.mib();
    figures.serve_ns = fill(blocks, size);
    figures.served = footprint.mib();
    trim_heap();
    figures.trimmed = footprint.mib();
  }).join();
  free_all(blocks, size, options);
  return figures;
}

}  // namespace

const Program kProgram = {
    .name = "load_then_serve",
    .what =
        R"(The main thread fills 4 million blocks and sleeps; a worker frees all of them, and then allocates as many, which it
keeps. Each round runs in a child process. Shows whether memory of an idle thread serves another one.)",
    .figures =
        R"(filled, freed, served, trimmed (all blocks of the worker live; after malloc_trim, where the allocator has one):
MiB of anonymous memory at each stage, without the array of addresses; fill, free, serve: ns a block.)",
    .sizes = "128",
    .defaults = {.rounds = 1}};

void measure_all(const Options& options, Report& report) {
  const size_t size = options.sizes_or({128})[0];
  const Report::Figure figures[] = {{"filled", "MiB"}, {"freed", "MiB"}, {"served", "MiB"}, {"trimmed", "MiB"},
                                    {"fill", "ns"},    {"free", "ns"},   {"serve", "ns"}};
  report.measure(figures, [&](uint64_t) {
    const Figures of = in_child([&] { return run(size, options); });
    return std::array{of.filled, of.freed, of.served, of.trimmed, of.fill_ns, of.free_ns, of.serve_ns};
  });
}

}  // namespace workload
