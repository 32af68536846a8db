// One slab over memory of the test's own.
#include "slab/slab.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "slab/own_slab.h"

namespace snug {
namespace {

constexpr uint32_t kBlock = 48;
constexpr uint16_t kCapacity = 150;  // more than two words of the bitmap

class SlabTest : public unit::OwnSlab, public testing::Test {
 protected:
  SlabTest() : OwnSlab(kBlock, kCapacity) {}
  size_t slot(void* block) const { return static_cast<size_t>(static_cast<char*>(block) - slab.start) / kBlock; }
  bool put_back(size_t slot) { return slab.put_back(slot, 1) == 1; }
  void expect_sound() {
    slab.full = !slab.has_blocks();  // the heap's business
    EXPECT_STREQ(slab.check(), nullptr);
  }

  // The two ways out, in the order in which blocks are handed out.
  size_t take_recycled(void** out, size_t want) {
    void* array[kCapacity];
    const size_t got = slab.take_recycled(array + kCapacity, want);
    std::reverse_copy(array + kCapacity - got, array + kCapacity, out);
    return got;
  }
  size_t carve(void** out, size_t want) {
    void* array[kCapacity];
    const size_t got = slab.carve(array + kCapacity, want);
    std::reverse_copy(array + kCapacity - got, array + kCapacity, out);
    return got;
  }

  void* out[kCapacity] = {};
};

TEST_F(SlabTest, BeginsEmptyAndUncarved) {
  expect_sound();
  EXPECT_EQ(slab.used(), 0u);
  EXPECT_TRUE(slab.has_blocks());
  EXPECT_EQ(slab.touched_pages(), PageCount{0});
  EXPECT_EQ(take_recycled(out, 10), 0u);
}

TEST_F(SlabTest, CarvesInOrderUntilNoneIsLeft) {
  EXPECT_EQ(carve(out, 100), 100u);
  expect_sound();
  EXPECT_EQ(carve(out + 100, 100), 50u);
  expect_sound();
  EXPECT_EQ(carve(out, 1), 0u);
  for (size_t i = 0; i < kCapacity; ++i) {
    EXPECT_EQ(out[i], slab.start + i * kBlock);
    EXPECT_EQ(slot(out[i]), i);
  }
  EXPECT_EQ(slab.used(), kCapacity);
  EXPECT_FALSE(slab.has_blocks());
  EXPECT_EQ(slab.touched_pages(), PageCount{1});
}

TEST_F(SlabTest, RecyclesInAddressOrder) {
  carve(out, kCapacity);
  for (size_t s : {149, 3, 64, 63, 128}) {
    EXPECT_TRUE(put_back(s));
    expect_sound();
  }
  EXPECT_EQ(slab.free_count, 5u);
  EXPECT_EQ(take_recycled(out, 3), 3u);
  expect_sound();
  EXPECT_EQ(take_recycled(out + 3, 10), 2u);
  expect_sound();
  const size_t expected[] = {3, 63, 64, 128, 149};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(slot(out[i]), expected[i]);
  EXPECT_TRUE(put_back(0)) << "below the word that was reached";
  expect_sound();
  EXPECT_EQ(take_recycled(out, 1), 1u);
  EXPECT_EQ(slot(out[0]), 0u);
}

TEST_F(SlabTest, TakesRowsBackAcrossWords) {
  carve(out, kCapacity);
  EXPECT_EQ(slab.put_back(60, 75), 75u);
  expect_sound();
  EXPECT_EQ(slab.used(), kCapacity - 75);
  EXPECT_EQ(take_recycled(out, kCapacity), 75u);
  for (size_t i = 0; i < 75; ++i) EXPECT_EQ(slot(out[i]), 60 + i);
}

TEST_F(SlabTest, RefusesWhatIsFree) {
  carve(out, 140);
  EXPECT_TRUE(put_back(5));
  EXPECT_FALSE(put_back(5)) << "free already";
  EXPECT_EQ(slab.put_back(4, 2), 0u) << "one of them is free already";
  expect_sound();
  EXPECT_TRUE(put_back(100));
  EXPECT_EQ(slab.put_back(50, 60), 14u) << "as many as lie in the words before";
  expect_sound();
  EXPECT_EQ(slab.used(), 140u - 16);
}

TEST_F(SlabTest, CheckSeesEachBrokenPart) {
  carve(out, 100);
  put_back(1);
  expect_sound();
  const Slab sound = slab;
  slab.free_count = 2;
  EXPECT_STREQ(slab.check(), "slab: the count of free blocks is wrong");
  slab = sound;
  slab.first_word = 1;
  EXPECT_STREQ(slab.check(), "slab: a free block lies below the first word");
  slab = sound;
  slab.free_bits()[1] = uint64_t{1} << 36;
  slab.free_count = 2;
  EXPECT_STREQ(slab.check(), "slab: a block that was never used is marked free");
  slab.free_bits()[1] = 0;
  slab = sound;
  slab.carved = kCapacity + 1;
  EXPECT_STREQ(slab.check(), "slab: more blocks used than there are");
  slab = sound;
  slab.full = true;
  EXPECT_STREQ(slab.check(), "slab: in the wrong list");
}

}  // namespace
}  // namespace snug
