// calloc_large: calloc of 8 MiB that is not touched, then freed; and with one OS page in 64 touched. Stresses the
// knowledge that memory is zero already: clearing 8 MiB costs a millisecond. Resembles sparse tables and hash maps.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kDefaultSize = 8u << 20;
constexpr size_t kTouchedStride = 64 * 4096;

// us per calloc + free.
double run(size_t size, bool touched, const Options& options) {
  const size_t cycles = scaled(options, 200);
  const double start = now_ns();
  for (size_t i = 0; i < cycles; ++i) {
    auto* const block = static_cast<volatile char*>(std::calloc(1, size));
    if (block == nullptr) fail("out of memory");
    if (touched) {
      for (size_t at = 0; at < size; at += kTouchedStride) {
        if (block[at] != 0) fail("calloc gave memory that is not zero");
        block[at] = 1;
      }
    }
    std::free(const_cast<char*>(block));
  }
  return (now_ns() - start) / 1e3 / static_cast<double>(cycles);
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  const size_t size = options.size != 0 ? options.size : kDefaultSize;
  Report report("calloc_large", options);
  for (const bool touched : {false, true}) {
    std::vector<double> rounds;
    for (unsigned r = 0; r < options.rounds; ++r) rounds.push_back(run(size, touched, options));
    report.add_median(touched ? "touched_sparsely" : "untouched", rounds, "us");
  }
  report.print();
}
