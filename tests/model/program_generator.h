// Random programs, a pure function of (shape, seed, length).
//
// A shape says which sizes are asked for and in which rhythm blocks live and die. Size-class edges are guessed as the
// multiples of 16 and the quarters of each doubling, ±1: where any sensible class map has its edges.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operation.h"

namespace snug::model {

enum class SizeMix : uint8_t {
  kTiny,        // 0…128
  kLogUniform,  // 1…4 MiB, each doubling as likely
  kEdges,       // around size-class edges, up to 512 KiB
  kLarge,       // 64 KiB…64 MiB, log-uniform
};

enum class Rhythm : uint8_t {
  kSteady,  // every operation at random, a few hundred live blocks
  kBursts,  // thousands allocated, then freed newest first, oldest first or at random
  kPhases,  // one size mix gives way to another while survivors of the first stay
};

struct Shape {
  SizeMix sizes;
  Rhythm rhythm;
};

inline constexpr size_t kLargestAlignment = 2 * 1024 * 1024;

size_t size_from(SizeMix mix, uint64_t random);
Program generate(Shape shape, uint64_t seed, size_t length);

const char* name_of(SizeMix mix);
const char* name_of(Rhythm rhythm);

}  // namespace snug::model
