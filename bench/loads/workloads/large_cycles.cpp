// large_cycles: allocate a large block, touch every OS page of it, free it; 64 KiB to 64 MiB, and a few in flight at
// once. Stresses the large-block cache, purging and refaulting. Resembles image and numeric programs with temporaries.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kOsPage = 4096;

void touch(void* block, size_t size) {
  if (block == nullptr) fail("out of memory");
  volatile char* const bytes = static_cast<char*>(block);
  for (size_t at = 0; at < size; at += kOsPage) bytes[at] = static_cast<char>(at >> 12);
}

void verify(const void* block, size_t size) {
  const char* const bytes = static_cast<const char*>(block);
  for (size_t at = 0; at < size; at += kOsPage * 64) {
    if (bytes[at] != static_cast<char>(at >> 12)) fail("a block was damaged");
  }
}

// us per cycle with `in_flight` blocks alive.
double run(size_t size, size_t in_flight, const Options& options) {
  Array<void*> alive(in_flight);
  const size_t cycles = std::max<size_t>(8, scaled(options, 512e6) / size);
  double start = 0;
  for (size_t i = 0; i < cycles + in_flight; ++i) {
    if (i == in_flight) start = now_ns();
    void*& slot = alive[i % in_flight];
    if (slot != nullptr) {
      verify(slot, size);
      std::free(slot);
    }
    slot = std::malloc(size);
    touch(slot, size);
  }
  const double us = (now_ns() - start) / 1e3 / static_cast<double>(cycles);
  for (void* block : alive) std::free(block);
  return us;
}

}  // namespace

const Program kProgram = {
    .name = "large_cycles",
    .what =
        R"(Allocates a large block, touches every OS page of it and frees it, with 1 or 3 such blocks alive at a time.
Shows the cache of large blocks, purging and refaulting.)",
    .figures = "KiBK/ALIVE, as 1024K/3: us a cycle.",
    .sizes = "64 KiB, 256 KiB, 1 MiB, 8 MiB, 64 MiB",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  for (const size_t size : options.sizes_or({64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20})) {
    for (const size_t in_flight : {size_t{1}, size_t{3}}) {
      report.measure(std::to_string(size >> 10) + "K/" + std::to_string(in_flight), "us", [&](uint64_t) {
        return average_of_threads(options.threads, [&](unsigned) { return run(size, in_flight, options); });
      });
    }
  }
}

}  // namespace workload
