// fresh_fill: a process fills fresh memory with small blocks, never frees, and exits. Stresses page faults, carving and
// out-of-band metadata: most short programs are like this. Each round is a child process of its own.
#include "workload.h"

namespace workload {
namespace {

struct Filled {
  double ns;
  size_t rss_kib;
};

Filled fill(size_t size, size_t bytes) {
  const size_t before = rss_kib();
  const size_t count = bytes / size;
  void* previous = nullptr;
  const double start = now_ns();
  for (size_t i = 0; i < count; ++i) {
    void** const block = static_cast<void**>(std::malloc(size));
    if (block == nullptr) fail("out of memory");
    // All of the block is used, as a program would: filled, with a link to its predecessor at the front.
    std::memset(block, static_cast<int>(i), size);
    *block = previous;
    previous = block;
  }
  const Filled filled{(now_ns() - start) / static_cast<double>(count), rss_kib() - before};
  size_t seen = 0;
  for (void* block = previous; block != nullptr; block = *static_cast<void**>(block)) ++seen;
  if (seen != count) fail("a block was damaged");
  return filled;
}

}  // namespace

const Program kProgram = {
    .name = "fresh_fill",
    .what =
        R"(Fills 200 MB of fresh memory with blocks of one size, never frees and exits, each round in a child process of
its own. Shows page faults, carving and metadata: most short programs are like this.)",
    .figures = R"(ns/SIZE: ns a block, its bytes written; rss/SIZE: KiB of resident memory that came with them.)",
    .sizes = "24, 100, 1000, 10000"};

void measure_all(const Options& options, Report& report) {
  for (const size_t size : options.sizes_or({24, 100, 1000, 10000})) {
    const Report::Figure figures[] = {{"ns/" + std::to_string(size), "ns"}, {"rss/" + std::to_string(size), "KiB"}};
    report.measure(figures, [&](uint64_t) {
      const Filled filled = in_child([&] { return fill(size, scaled(options, 200e6)); });
      return std::array{filled.ns, static_cast<double>(filled.rss_kib)};
    });
  }
}

}  // namespace workload
