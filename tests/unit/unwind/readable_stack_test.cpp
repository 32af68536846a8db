// ReadableStack: what it has found once it asks for no more. The pages are made unreadable then, so that asking would
// find that out.
#include "unwind/readable_stack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace snug::unwind {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 600;

class ReadableStackTest : public testing::Test {
 protected:
  ReadableStackTest()
      : memory_(mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~ReadableStackTest() override { munmap(memory_, kPages * kPage); }

  std::uintptr_t page(std::size_t number) const { return reinterpret_cast<std::uintptr_t>(memory_) + number * kPage; }
  void forbid(std::size_t number) const { mprotect(reinterpret_cast<void*>(page(number)), kPage, PROT_NONE); }
  void forbid_all() const { mprotect(memory_, kPages * kPage, PROT_NONE); }

  static inline std::uint64_t epochs = 0;
  const std::uint64_t epoch_ = ++epochs;  // what another test has found at these addresses is forgotten
  void* memory_;
};

TEST_F(ReadableStackTest, KnowsThePagesBelowAFrameOfSeveral) {
  EXPECT_TRUE(ReadableStack(page(10), epoch_).can_read(page(17)));
  forbid_all();
  for (std::size_t number = 10; number <= 17; ++number)
    EXPECT_TRUE(ReadableStack(page(10), epoch_).can_read(page(number)));
  EXPECT_FALSE(ReadableStack(page(10), epoch_).can_read(page(18)));
}

TEST_F(ReadableStackTest, AsksForWhatLiesBeyondAHole) {
  forbid(13);
  EXPECT_TRUE(ReadableStack(page(10), epoch_).can_read(page(17)));
  EXPECT_FALSE(ReadableStack(page(10), epoch_).can_read(page(13)));
  forbid_all();
  EXPECT_FALSE(ReadableStack(page(10), epoch_).can_read(page(17)));
}

TEST_F(ReadableStackTest, AWalkThatBeginsDeeperForgetsNothing) {
  {
    ReadableStack stack(page(20), epoch_);
    EXPECT_TRUE(stack.can_read(page(21)));
    EXPECT_TRUE(stack.can_read(page(22)));
  }
  {
    ReadableStack deeper(page(18), epoch_);
    EXPECT_TRUE(deeper.can_read(page(19)));
    EXPECT_TRUE(deeper.can_read(page(22)));
  }
  forbid_all();
  for (int walk = 0; walk != 3; ++walk) {
    EXPECT_TRUE(ReadableStack(page(20), epoch_).can_read(page(22)));
    EXPECT_TRUE(ReadableStack(page(18), epoch_).can_read(page(22)));
  }
}

// That may be unmapped while the thread is on another.
TEST_F(ReadableStackTest, ForgetsTheStackThatTheThreadHasLeft) {
  EXPECT_TRUE(ReadableStack(page(20), epoch_).can_read(page(22)));
  EXPECT_TRUE(ReadableStack(page(500), epoch_).can_read(page(502)));
  forbid_all();
  EXPECT_FALSE(ReadableStack(page(500), epoch_).can_read(page(22)));
  EXPECT_TRUE(ReadableStack(page(500), epoch_).can_read(page(502)));
  EXPECT_FALSE(ReadableStack(page(20), epoch_).can_read(page(22)));
}

TEST_F(ReadableStackTest, WhatWasFoundHoldsForItsEpoch) {
  EXPECT_TRUE(ReadableStack(page(20), epoch_).can_read(page(22)));
  EXPECT_TRUE(ReadableStack(page(30), ReadableStack::kNoEpoch).can_read(page(32)));
  forbid_all();
  EXPECT_FALSE(ReadableStack(page(30), ReadableStack::kNoEpoch).can_read(page(32)));
  EXPECT_TRUE(ReadableStack(page(20), epoch_).can_read(page(22))) << "a walk of its own changes nothing";
  EXPECT_FALSE(ReadableStack(page(20), epoch_ + 1000).can_read(page(22)));
}

TEST_F(ReadableStackTest, WhatCannotBeReadIsNot) {
  forbid(30);
  EXPECT_FALSE(ReadableStack(page(29), epoch_).can_read(page(30)));
  EXPECT_FALSE(ReadableStack(page(29), epoch_).can_read(0));
  EXPECT_FALSE(ReadableStack(page(29), epoch_).can_read(~std::uintptr_t{7}));
}

}  // namespace
}  // namespace snug::unwind
