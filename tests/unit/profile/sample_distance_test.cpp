#include "profile/sample_distance.h"

#include <cmath>

namespace snug {
namespace {

// The mean of a geometric number is the weight, and its deviation about as much: 200,000 draws are right to 1%.
TEST(SampleDistanceTest, TheMeanNumberOfBlocksIsTheWeight) {
  const SampleDistance distance(512 << 10);
  uint64_t random = 1;
  for (const size_t bytes : {16, 1000, 100000, 1 << 20, 4 << 20}) {
    double sum = 0;
    constexpr int kDraws = 200000;
    for (int i = 0; i != kDraws; ++i) sum += distance.draw_blocks(random, bytes);
    EXPECT_NEAR(sum / kDraws, distance.weight_of(bytes), 0.015 * distance.weight_of(bytes)) << bytes;
  }
}

TEST(SampleDistanceTest, ALoneBlockIsDrawnWithItsChance) {
  const SampleDistance distance(512 << 10);
  uint64_t random = 2;
  for (const size_t bytes : {100 << 10, 512 << 10, 2 << 20}) {
    int drawn = 0;
    constexpr int kDraws = 200000;
    for (int i = 0; i != kDraws; ++i) drawn += distance.draw_lone(random, bytes) ? 1 : 0;
    EXPECT_NEAR(double{1} * drawn / kDraws * distance.weight_of(bytes), 1, 0.02) << bytes;
  }
}

TEST(SampleDistanceTest, WeightsAreThoseOfTheExponential) {
  for (const size_t mean : {1024, 512 << 10, 1 << 30})
    for (size_t bytes = 1; bytes < size_t{1} << 36; bytes = bytes * 3 + 1) {
      const double weight = -1 / std::expm1(-static_cast<double>(bytes) / static_cast<double>(mean));
      EXPECT_NEAR(SampleDistance(mean).weight_of(bytes) / weight, 1, 1e-6) << mean << " " << bytes;
    }
}

TEST(SampleDistanceTest, AnyDistanceIsAtLeastOneBlock) {
  uint64_t random = 3;
  for (int i = 0; i != 1000; ++i) EXPECT_EQ(SampleDistance(1024).draw_blocks(random, size_t{1} << 40), 1u);
}

}  // namespace
}  // namespace snug
