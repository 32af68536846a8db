// growing_realloc: a buffer grows to 48 MiB (times --scale) by realloc in small steps, each new piece written. Stresses
// growth in place and mremap. Resembles a reader that appends to a buffer, and glibc's realloc-heavy text tools.
#include "workload.h"

namespace workload {
namespace {

constexpr double kGoal = 48.0 * (1 << 20);  // bytes; an allocator that copies at each step takes time by its square

struct Growth {
  double ns_per_step;
  double ms;
};

Growth grow(size_t step, size_t goal) {
  char* buffer = nullptr;
  size_t length = 0;
  size_t steps = 0;
  const double start = now_ns();
  while (length < goal) {
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
Growth grow_with_neighbours(size_t step, size_t goal) {
  Array<void*> neighbours(goal / step + 1);
  char* buffer = nullptr;
  size_t steps = 0;
  const double start = now_ns();
  for (size_t length = 0; length < goal; length += step) {
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

const Program kProgram = {
    .name = "growing_realloc",
    .what =
        R"(Grows a buffer to 48 MiB, times --scale, by realloc in steps of one size, each new piece written: alone, and with a
neighbour allocated at each step, so that growth in place cannot be had for nothing.)",
    .figures = "STEP/alone, STEP/neighbours: ns a step; the same with /total: ms to the end.",
    .sizes = "steps of 4096, 65536"};

void measure_all(const Options& options, Report& report) {
  for (const size_t step : options.sizes_or({4096, 65536})) {
    const auto measure = [&](const std::string& name, auto grow) {
      const Report::Figure figures[] = {{name, "ns"}, {name + "/total", "ms"}};
      report.measure(figures, [&](uint64_t) {
        const Growth growth = grow(step, scaled(options, kGoal));
        return std::array{growth.ns_per_step, growth.ms};
      });
    };
    measure(std::to_string(step) + "/alone", grow);
    measure(std::to_string(step) + "/neighbours", grow_with_neighbours);
  }
}

}  // namespace workload
