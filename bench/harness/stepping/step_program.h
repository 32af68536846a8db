// Programs of which the last call is counted, and the search for the program with the longest one: each is a change of
// the worst one so far, or a fresh one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace snug::stepping {

constexpr size_t kSlots = 24;

struct Random {
  uint64_t state;
  uint32_t below(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state >> 33) % bound);
  }
};

// Allocates into the slot if it is empty, else frees what is there.
struct Step {
  uint32_t slot;
  uint32_t bytes;
};

using Program = std::vector<Step>;

inline uint32_t any_size(Random& random) {
  const uint32_t doubling = random.below(22);
  return random.below((uint32_t{16} << doubling)) + 1;
}

inline Program fresh(Random& random) {
  uint32_t palette[6];
  for (uint32_t& size : palette) size = any_size(random);
  Program program(2 + random.below(50));
  for (Step& step : program) step = {random.below(kSlots), palette[random.below(6)] + random.below(3) * 16};
  return program;
}

inline Program changed(Program program, Random& random) {
  for (uint32_t changes = 1 + random.below(3); changes != 0; --changes) {
    const size_t at = random.below(static_cast<uint32_t>(program.size()));
    const Step other{random.below(kSlots), random.below(2) != 0 ? any_size(random) : program[at].bytes};
    switch (random.below(4)) {
      case 0:
        if (program.size() < 100) program.insert(program.begin() + static_cast<std::ptrdiff_t>(at), other);
        break;
      case 1:
        if (program.size() > 2) program.erase(program.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        program[at] = other;
        break;
      default:
        program[at].bytes = program[random.below(static_cast<uint32_t>(program.size()))].bytes;
    }
  }
  return program;
}

// Count has `instructions`.
template <class Count>
struct Worst {
  Count count;
  Program program;

  // As long is enough: drifting along a plateau finds ways up.
  void consider(const Count& other, const Program& of) {
    if (other.instructions < count.instructions) return;
    count = other;
    program = of;
  }
};

}  // namespace snug::stepping
