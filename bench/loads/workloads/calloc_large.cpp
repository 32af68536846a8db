// calloc_large: calloc of 8 MiB that is not touched, then freed; and with one OS page in 64 touched. Stresses the
// knowledge that memory is zero already: clearing 8 MiB costs a millisecond. Resembles sparse tables and hash maps.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kTouchedStride = 64 * 4096;

enum class Touched { kNothing, kSparsely };

// us per calloc + free.
double run(size_t size, Touched touched, const Options& options) {
  const size_t cycles = scaled(options, 200);
  const double start = now_ns();
  for (size_t i = 0; i < cycles; ++i) {
    auto* const block = static_cast<volatile char*>(std::calloc(1, size));
    if (block == nullptr) fail("out of memory");
    if (touched == Touched::kSparsely) {
      for (size_t at = 0; at < size; at += kTouchedStride) {
        if (block[at] != 0) fail("calloc gave memory that is not zero");
        block[at] = 1;
      }
      for (size_t at = 0; at < size; at += kTouchedStride) {
        if (block[at] != 1) fail("a block was damaged");
      }
    }
    std::free(const_cast<char*>(block));
  }
  return (now_ns() - start) / 1e3 / static_cast<double>(cycles);
}

}  // namespace

const Program kProgram = {
    .name = "calloc_large",
    .what =
        R"(Asks calloc for a large block and frees it: untouched, and with one OS page in 64 touched. Shows whether the
allocator knows that memory is zero already, and does not clear it.)",
    .figures = "untouched, touched_sparsely: us for a calloc and its free.",
    .sizes = "8 MiB",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  for (const size_t size : options.sizes_or({8u << 20})) {
    const auto measure = [&](const char* name, Touched touched) {
      report.measure(name, "us", [&](uint64_t) {
        return average_of_threads(options.threads, [&](unsigned) { return run(size, touched, options); });
      });
    };
    measure("untouched", Touched::kNothing);
    measure("touched_sparsely", Touched::kSparsely);
  }
}

}  // namespace workload
