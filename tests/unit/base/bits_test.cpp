// Arithmetic on bits, at its edges.
#include "base/bits.h"

#include <gtest/gtest.h>

#include <bit>

namespace snug {
namespace {

TEST(Bits, RoundsToPowersOfTwo) {
  for (size_t alignment : {size_t{1}, size_t{16}, size_t{4096}, size_t{1} << 40}) {
    for (size_t multiple : {size_t{0}, alignment, 7 * alignment}) {
      EXPECT_EQ(round_up(multiple, alignment), multiple);
      EXPECT_EQ(round_down(multiple, alignment), multiple);
      EXPECT_TRUE(is_aligned(multiple, alignment));
      EXPECT_EQ(round_down(multiple + alignment - 1, alignment), multiple);
      if (alignment == 1) continue;
      EXPECT_EQ(round_up(multiple + 1, alignment), multiple + alignment);
      EXPECT_EQ(round_up(multiple + alignment - 1, alignment), multiple + alignment);
      EXPECT_FALSE(is_aligned(multiple + 1, alignment));
    }
  }
}

TEST(Bits, RoundingUpWrapsToLessThanItsArgument) { EXPECT_LT(round_up(SIZE_MAX - 1, 4096), SIZE_MAX - 1); }

TEST(Bits, Log2IsTheHighestBit) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const size_t power = size_t{1} << bit;
    EXPECT_EQ(log2_floor(power), bit);
    EXPECT_EQ(log2_floor(power | (power - 1)), bit);
  }
}

TEST(Bits, RunsOfBits) {
  for (unsigned first = 0; first < 64; ++first) {
    for (unsigned count = 0; first + count <= 64; ++count) {
      const uint64_t run = bit_run(first, count);
      for (unsigned bit = 0; bit < 64; ++bit)
        ASSERT_EQ(run >> bit & 1, bit >= first && bit < first + count) << first << " " << count << " " << bit;
    }
  }
}

TEST(Bits, OnesAreCounted) {
  for (unsigned first = 0; first < 64; ++first) {
    for (unsigned count = 0; first + count <= 64; ++count) {
      for (const uint64_t pattern : {~uint64_t{0}, uint64_t{0xaaaaaaaaaaaaaaaa}, uint64_t{0x9249249249249249}}) {
        const uint64_t word = bit_run(first, count) & pattern;
        ASSERT_EQ(count_ones(word), static_cast<unsigned>(std::popcount(word))) << std::hex << word;
      }
    }
  }
}

TEST(Bits, ASubtractionTellsWhetherTheNumberWasLess) {
  for (const size_t number : {size_t{0}, size_t{1}, size_t{65536}, size_t{65537}, SIZE_MAX - 1, SIZE_MAX}) {
    for (const size_t other : {size_t{0}, size_t{1}, size_t{65537}, SIZE_MAX}) {
      size_t difference = number;
      EXPECT_EQ(subtract_borrows(&difference, other), number < other) << number << " " << other;
      EXPECT_EQ(difference, number - other);
    }
  }
}

TEST(Bits, AddressesGoThereAndBack) {
  int here = 0;
  EXPECT_EQ(at<int>(address_of(&here)), &here);
}

}  // namespace
}  // namespace snug
