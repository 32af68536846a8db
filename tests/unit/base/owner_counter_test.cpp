// One writer, any readers: no reader sees half an addition.
#include "base/owner_counter.h"

#include <gtest/gtest.h>

#include <thread>

namespace snug {
namespace {

TEST(OwnerCounter, AddsAndSubtracts) {
  OwnerCounter counter;
  EXPECT_EQ(counter.get(), 0u);
  counter.add(5);
  counter.subtract(2);
  EXPECT_EQ(counter.get(), 3u);
  counter.subtract(4);
  EXPECT_EQ(counter.get(), UINT64_MAX);
}

TEST(OwnerCounter, ReadersSeeWholeValues) {
  constexpr uint64_t kStep = 0x1'0000'0001;  // both halves change together
  constexpr uint64_t kSteps = 100000;
  OwnerCounter counter;
  std::thread owner([&] {
    for (uint64_t i = 0; i < kSteps; ++i) counter.add(kStep);
  });
  uint64_t last = 0;
  while (last != kSteps * kStep) {
    const uint64_t now = counter.get();
    ASSERT_EQ(now % kStep, 0u);
    ASSERT_GE(now, last);
    last = now;
  }
  owner.join();
}

}  // namespace
}  // namespace snug
