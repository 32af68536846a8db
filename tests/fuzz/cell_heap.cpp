// Any bytes are a program of cell heap operations: the first chooses the policies, each four after it are a step. The
// program runs beside its reference (tests/unit/cell/cell_program.h).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../unit/cell/cell_program.h"

namespace {

using namespace snug::unit;

template <class Policy>
std::string run(const std::vector<CellStep>& steps) {
  return CellProgram<Policy>().run(steps);
}

constexpr std::string (*kRuns[])(const std::vector<CellStep>&) = {
    run<snug::CellPolicy>,   run<ScanCells>,     run<DoublingEverywhere>, run<ThresholdPages>,  run<NarrowCells>,
    run<TwoLevelEverywhere>, run<ThresholdScan>, run<WalkedCells>,        run<TrailerlessScan>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  if (count == 0) return 0;
  std::vector<CellStep> steps;
  for (size_t at = 1; at + 4 <= count && steps.size() < 256; at += 4)
    steps.push_back({bytes[at], bytes[at + 1], static_cast<uint16_t>(bytes[at + 2] | bytes[at + 3] << 8)});
  const std::string wrong = kRuns[bytes[0] % std::size(kRuns)](steps);
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
