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
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("large_cycles", options);
  const std::vector<size_t> sizes = options.size != 0
                                        ? std::vector<size_t>{options.size}
                                        : std::vector<size_t>{64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20};
  for (const size_t size : sizes) {
    for (const size_t in_flight : {1, 3}) {
      std::vector<double> rounds;
      for (unsigned r = 0; r < options.rounds; ++r) rounds.push_back(run(size, in_flight, options));
      report.add_median(std::to_string(size >> 10) + "K/" + std::to_string(in_flight), rounds, "us");
    }
  }
  report.print();
}
