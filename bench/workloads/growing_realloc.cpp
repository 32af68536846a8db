// growing_realloc: a buffer grows to 48 MiB by realloc in small steps, each new piece written. Stresses growth in place
// and mremap. Resembles a reader that appends to a buffer, and glibc's realloc-heavy text tools.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kGoal = 48u << 20;

struct Growth {
  double ns_per_step;
  double ms;
};

Growth grow(size_t step) {
  char* buffer = nullptr;
  size_t length = 0;
  size_t steps = 0;
  const double start = now_ns();
  while (length < kGoal) {
    buffer = static_cast<char*>(std::realloc(buffer, length + step));
    if (buffer == nullptr) fail("out of memory");
    std::memset(buffer + length, static_cast<int>(steps), step);
    length += step;
    ++steps;
  }
  const double ns = now_ns() - start;
  for (size_t i = 0; i < steps; ++i) {
    if (buffer[i * step] != static_cast<char>(i)) fail("realloc lost contents");
  }
  std::free(buffer);
  return {ns / static_cast<double>(steps), ns / 1e6};
}

// The same with a neighbour allocated at each step, so that growth in place cannot be had for nothing.
Growth grow_with_neighbours(size_t step) {
  Array<void*> neighbours(kGoal / step + 1);
  char* buffer = nullptr;
  size_t steps = 0;
  const double start = now_ns();
  for (size_t length = 0; length < kGoal; length += step) {
    buffer = static_cast<char*>(std::realloc(buffer, length + step));
    if (buffer == nullptr) fail("out of memory");
    std::memset(buffer + length, static_cast<int>(steps), step);
    neighbours[steps++] = std::malloc(step);
  }
  const double ns = now_ns() - start;
  for (size_t i = 0; i < steps; ++i) {
    if (buffer[i * step] != static_cast<char>(i)) fail("realloc lost contents");
    std::free(neighbours[i]);
  }
  std::free(buffer);
  return {ns / static_cast<double>(steps), ns / 1e6};
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("growing_realloc", options);
  const std::vector<size_t> steps =
      options.size != 0 ? std::vector<size_t>{options.size} : std::vector<size_t>{4096, 65536};
  for (const size_t step : steps) {
    for (const bool neighbours : {false, true}) {
      std::vector<double> per_step;
      std::vector<double> total;
      for (unsigned r = 0; r < options.rounds; ++r) {
        const Growth growth = neighbours ? grow_with_neighbours(step) : grow(step);
        per_step.push_back(growth.ns_per_step);
        total.push_back(growth.ms);
      }
      const std::string name = std::to_string(step) + (neighbours ? "/neighbours" : "/alone");
      report.add_median(name, per_step, "ns");
      report.add_median(name + "/total", total, "ms");
    }
  }
  report.print();
}
