// leak: a program that grows. Most blocks die young, one in twenty is kept for ever, between the others. Stresses how
// tightly the kept ones come to lie: an allocator that places them among the short-lived keeps the memory of those too.
// Resembles caches without a bound, interned strings, and plain leaks.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kYoung = 2000;  // blocks that are alive for a while, of each thread
constexpr size_t kKeptOneIn = 20;

struct Held {
  void* block;
  size_t size;
};

struct Growth {
  double operations;
  size_t kept_bytes;
};

Growth grow(Array<Held>& kept, size_t first, size_t steps, uint64_t seed, const Options& options) {
  Random random(seed);
  Sampler sampler(options.verify);
  Array<Held> young(kYoung);
  Growth growth{static_cast<double>(steps), 0};
  for (size_t i = 0; i < steps; ++i) {
    const size_t size = options.size != 0 ? options.size : random.log_between(16, 2048);
    const Held fresh{take(size), size};
    if (i % kKeptOneIn == 0) {
      kept[first + i / kKeptOneIn] = fresh;
      growth.kept_bytes += size;
      continue;
    }
    Held& place = young[random.below(kYoung)];
    if (place.block != nullptr) sampler.give(place.block, place.size);
    place = fresh;
  }
  for (const Held& held : young) {
    if (held.block != nullptr) sampler.give(held.block, held.size);
  }
  return growth;
}

}  // namespace

const Program kProgram = {
    .name = "leak",
    .what =
        R"(Takes blocks of mixed sizes of which most are freed soon and one in twenty never. Shows the speed of a growing
program, and the memory that the kept blocks hold when all others are freed.)",
    .figures =
        R"(steps: millions a second over all threads, each a malloc and mostly a free; rss: MB of resident memory
over that at the start, when only the kept blocks live; kept: MB in them.)",
    .sizes = "mixed: 16 to 2048, log-uniform",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  const size_t steps = scaled(options, 6e6) / options.threads / kKeptOneIn * kKeptOneIn + kKeptOneIn;
  const size_t kept_each = steps / kKeptOneIn;
  Array<Held> kept(kept_each * options.threads);
  std::vector<Growth> growths(options.threads);
  const size_t base = rss_kib();
  const double ns = run_threads(options.threads, [&](unsigned t) {
    growths[t] = grow(kept, kept_each * t, steps, options.seed * 100 + t, options);
  });
  const size_t now = rss_kib();
  Growth all{0, 0};
  for (const Growth& each : growths) {
    all.operations += each.operations;
    all.kept_bytes += each.kept_bytes;
  }
  for (const Held& held : kept) {
    check_stamp(held.block, held.size);
    std::free(held.block);
  }
  report.add("steps", all.operations / ns * 1e3, "M/s");
  report.add("rss", now > base ? static_cast<double>(now - base) * 1024 / 1e6 : 0, "MB");
  report.add("kept", static_cast<double>(all.kept_bytes) / 1e6, "MB");
}

}  // namespace workload
