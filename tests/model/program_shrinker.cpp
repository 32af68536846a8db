#include "program_shrinker.h"

#include <algorithm>

namespace snug::model {

namespace {

Program without(const Program& program, size_t first, size_t count) {
  Program rest(program.begin(), program.begin() + static_cast<std::ptrdiff_t>(first));
  const size_t next = std::min(first + count, program.size());
  rest.insert(rest.end(), program.begin() + static_cast<std::ptrdiff_t>(next), program.end());
  return rest;
}

}  // namespace

Program shrink(Program program, const Fails& fails, unsigned attempts) {
  for (size_t run = (program.size() + 1) / 2; run > 0 && attempts > 0;) {
    bool cut = false;
    // From the back: operations after the failure go first, and one attempt removes half of the program.
    for (size_t end = program.size(); end > 0 && attempts > 0;) {
      const size_t first = end > run ? end - run : 0;
      Program candidate = without(program, first, end - first);
      --attempts;
      if (fails(candidate)) {
        program = std::move(candidate);
        cut = true;
      }
      end = first;
    }
    if (!cut || run > program.size()) run = run == 1 && !cut ? 0 : std::max<size_t>(run / 2, 1);
  }
  // Small numbers read better: try smaller sizes on what is left.
  for (size_t i = 0; i < program.size() && program.size() <= 64; ++i) {
    for (size_t divisor = 64; divisor > 1 && attempts > 0;) {
      Program candidate = program;
      candidate[i].size /= divisor;
      if (candidate[i].size == program[i].size) break;
      --attempts;
      if (fails(candidate)) {
        program = std::move(candidate);
      } else {
        divisor /= 4;
      }
    }
  }
  return program;
}

}  // namespace snug::model
