// seed_s0: the load of a published comparison of cell allocators (docs/seeds.md, S0). 402 groups of 1 large and 19
// small cells; all large ones and 10 of each 19 small ones are freed, so that the holes are isolated; then N times the
// 402 large are allocated and freed. Stresses finding a fit among many free cells. One row per N, mean ms and standard
// deviation; and ns a pair, by least squares.
#include "workload.h"

#include <cmath>

namespace workload {
namespace {

constexpr size_t kGroups = 402;
constexpr size_t kSmallPerGroup = 19;
// Every other small cell is freed, which is 10 of 19 and leaves no two free ones side by side.
static_assert((kSmallPerGroup + 1) / 2 == 10);
// Its text says only "cells of various sizes, including large ones". With these glibc, jemalloc and mimalloc stand
// to each other about as in the project's reconstruction; --size sets the large one.
constexpr size_t kSmallSize = 32;
constexpr size_t kDefaultLargeSize = 1024;

struct Cells {
  void* large[kGroups];
  void* small[kGroups][kSmallPerGroup];
};

// Set-up and N rounds, as it was timed there. Leaves nothing behind.
double run(Cells& cells, size_t large_size, size_t rounds) {
  const double start = now_ns();
  for (size_t g = 0; g < kGroups; ++g) {
    cells.large[g] = take(large_size);
    for (void*& small : cells.small[g]) small = take(kSmallSize);
  }
  for (size_t g = 0; g < kGroups; ++g) {
    std::free(cells.large[g]);
    for (size_t s = 0; s < kSmallPerGroup; s += 2) std::free(cells.small[g][s]);
  }
  for (size_t n = 0; n < rounds; ++n) {
    for (void*& large : cells.large) large = take(large_size);
    for (void* large : cells.large) std::free(large);
  }
  const double ns = now_ns() - start;
  for (size_t g = 0; g < kGroups; ++g) {
    for (size_t s = 1; s < kSmallPerGroup; s += 2) {
      check_stamp(cells.small[g][s], kSmallSize);
      std::free(cells.small[g][s]);
    }
  }
  return ns;
}

}  // namespace

const Program kProgram = {
    .name = "seed_s0",
    .what =
        R"(The load of a published comparison of cell allocators (docs/seeds.md, S0): 402 groups of 1 large and 19 small
cells; the large ones and every other small one are freed; then N times the 402 large are allocated and freed, for N of
10, 15 … 300. Shows finding a fit among many free cells.)",
    .figures = R"(mean/N, deviation/N: ms of a run, set-up included; pair: ns for an allocation and its free, the slope
of mean/N by least squares.)",
    .sizes = "large cells of 1024",
    .defaults = {.rounds = 20}};

void measure_all(const Options& options, Report& report) {
  const size_t large_size = options.size != 0 ? options.size : kDefaultLargeSize;
  Array<Cells> cells(1);
  run(cells[0], large_size, 10);
  // Least squares of mean time over N: the slope is 402 pairs.
  double n_sum = 0, t_sum = 0, nn_sum = 0, nt_sum = 0, points = 0;
  for (size_t n = 10; n <= 300; n += 5) {
    double sum = 0, squares = 0;
    for (unsigned r = 0; r < options.rounds; ++r) {
      const double ms = run(cells[0], large_size, n) / 1e6;
      sum += ms;
      squares += ms * ms;
    }
    const double mean = sum / options.rounds;
    const double variance = squares / options.rounds - mean * mean;
    report.add("mean/" + std::to_string(n), mean, "ms");
    report.add("deviation/" + std::to_string(n), std::sqrt(std::max(variance, 0.0)), "ms");
    n_sum += static_cast<double>(n);
    t_sum += mean;
    nn_sum += static_cast<double>(n * n);
    nt_sum += static_cast<double>(n) * mean;
    points += 1;
  }
  const double slope = (points * nt_sum - n_sum * t_sum) / (points * nn_sum - n_sum * n_sum);
  report.add("pair", slope * 1e6 / kGroups, "ns");
}

}  // namespace workload
