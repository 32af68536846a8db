// What of a slab is detached while the OS takes its pages, and what must not be.
#include "slab/holes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "os/memory.h"
#include "slab/own_slab.h"

namespace snug {
namespace {

constexpr uint32_t kBlock = 1000;
constexpr uint16_t kCapacity = 100;

class HolesTest : public testing::Test {
 protected:
  HolesTest() {
    slab.start = static_cast<char*>(os::map(kBytes, 1));
    slab.block_size = kBlock;
    slab.capacity = kCapacity;
  }
  ~HolesTest() override { os::release(slab.start, kBytes); }

  std::vector<char*> carve(size_t count) {
    std::vector<void*> array(count);
    EXPECT_EQ(slab.carve(array.data() + count, count), count);
    std::vector<char*> blocks;
    for (size_t i = count; i-- != 0;) {
      blocks.push_back(static_cast<char*>(array[i]));
      std::memset(blocks.back(), 1, kBlock);
    }
    return blocks;
  }
  bool is_zero(size_t from, size_t to) const {
    for (size_t i = from; i != to; ++i)
      if (slab.start[i] != 0) return false;
    return true;
  }
  void expect_sound() {
    slab.full = !slab.has_blocks();
    EXPECT_STREQ(slab.check(), nullptr);
  }

  static constexpr size_t kBytes = 128 << 10;
  std::unique_ptr<unit::OwnSlab::Record> record = std::make_unique<unit::OwnSlab::Record>();
  Slab& slab = *::new (record->bytes) Slab;
  Holes holes;
};

TEST_F(HolesTest, ThePagesOfFreeNeighboursGoAndComeBackAsZeros) {
  carve(kCapacity);
  slab.put_back(10, 30);  // bytes 10000 to 40000
  ASSERT_TRUE(holes.take(slab));
  EXPECT_EQ(holes.blocks(), 25u) << "those that reach into pages 3 to 8";
  EXPECT_EQ(slab.used(), size_t{kCapacity} - 5);
  expect_sound();
  EXPECT_EQ(holes.purge(), 6 * 4096u);
  EXPECT_TRUE(is_zero(3 * 4096, 9 * 4096));
  EXPECT_EQ(slab.start[3 * 4096 - 1], 1);
  EXPECT_EQ(slab.start[9 * 4096], 1);
  EXPECT_EQ(holes.put_back(), nullptr);
  EXPECT_EQ(slab.free_count, 30u);
  expect_sound();
}

TEST_F(HolesTest, BlocksBetweenTwoHolesAreInHandOnce) {
  slab.block_size = 6000;
  slab.capacity = 20;
  std::vector<void*> array(20);
  slab.carve(array.data() + 20, 20);
  for (size_t i = 0; i != 20; ++i) std::memset(slab.start + i * 6000, 1, 6000);
  for (size_t i = 0; i != 20; ++i)
    if (i != 7) slab.put_back(i, 1);
  ASSERT_TRUE(holes.take(slab));
  EXPECT_EQ(holes.blocks(), 19u);
  holes.purge();
  for (size_t i = 42000; i != 48000; ++i) ASSERT_EQ(slab.start[i], 1);
  EXPECT_EQ(holes.put_back(), nullptr);
  EXPECT_EQ(slab.free_count, 19u);
  expect_sound();
}

TEST_F(HolesTest, APageThatNeverUsedBlocksShareStays) {
  carve(20);  // to byte 20000, in the fifth page
  slab.put_back(0, 20);
  ASSERT_TRUE(holes.take(slab));
  char* const fresh = carve(1).front();
  EXPECT_EQ(holes.purge(), 4 * 4096u);
  for (size_t i = 0; i != kBlock; ++i) ASSERT_EQ(fresh[i], 1);
  EXPECT_EQ(holes.put_back(), nullptr);
  EXPECT_EQ(slab.free_count, 20u);
  expect_sound();
}

TEST_F(HolesTest, ASlabWithoutAHoleGivesNothing) {
  carve(kCapacity);
  EXPECT_FALSE(holes.take(slab));
  for (size_t i = 0; i != kCapacity; i += 2) slab.put_back(i, 1);
  EXPECT_FALSE(holes.take(slab));
  EXPECT_EQ(holes.blocks(), 0u);
  for (size_t i = 1; i != 9; i += 2) slab.put_back(i, 1);
  ASSERT_TRUE(holes.take(slab));
  holes.put_back();
  slab.purged = true;
  EXPECT_FALSE(holes.take(slab)) << "nothing has come back since";
}

TEST_F(HolesTest, ABlockThatIsFreedWhileInHandIsNamed) {
  carve(kCapacity);
  slab.put_back(10, 30);
  ASSERT_TRUE(holes.take(slab));
  slab.put_back(20, 1);
  EXPECT_EQ(holes.put_back(), slab.start + 20 * kBlock);
}

}  // namespace
}  // namespace snug
