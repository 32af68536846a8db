#include "compact/handle_table.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/compiler.h"
#include "os/memory.h"

namespace snug {
namespace {

char blocks[64];

class HandleTableTest : public testing::Test {
 protected:
  HandleTableTest() { EXPECT_TRUE(table.open(HandleTable::kMostSlots)); }
  ~HandleTableTest() override {
    EXPECT_EQ(table.check(), nullptr);
    table.close();
  }
  void remove(HandleWord handle) {
    const size_t leaf = table.remove(HandleTable::slot_of(handle));
    if (leaf != HandleTable::kNone) table.put_back(leaf, table.purge(leaf));
  }
  std::vector<HandleWord> add(size_t count) {
    std::vector<HandleWord> handles;
    for (size_t i = 0; i < count; ++i) handles.push_back(table.add(blocks));
    return handles;
  }

  HandleTable table{0};
};

TEST_F(HandleTableTest, AHandleLeadsToItsBlockUntilThatIsGone) {
  const HandleWord handle = table.add(blocks);
  EXPECT_NE(handle, 0u);
  EXPECT_NE(table.find(handle), nullptr);
  EXPECT_EQ(table.address(HandleTable::slot_of(handle)), blocks);
  table.set_address(HandleTable::slot_of(handle), blocks + 16);
  EXPECT_NE(table.find(handle), nullptr) << "it outlives a move";
  table.remove(HandleTable::slot_of(handle));
  EXPECT_EQ(table.find(handle), nullptr);
  const HandleWord next = table.add(blocks + 32);
  EXPECT_EQ(HandleTable::slot_of(next), HandleTable::slot_of(handle)) << "the lowest slot is taken first";
  EXPECT_NE(next, handle);
  EXPECT_EQ(table.find(handle), nullptr);
}

TEST_F(HandleTableTest, NoHandleIsEverGivenTwice) {
  const HandleWord first = table.add(blocks);
  const size_t slot = HandleTable::slot_of(first);
  std::vector<bool> seen(1 << 16);
  seen[first >> 48] = true;
  for (uint64_t block = 1; block < HandleTable::kMostBlocks; ++block) {
    table.remove(slot);
    const HandleWord handle = table.add(blocks);
    ASSERT_EQ(HandleTable::slot_of(handle), slot);
    ASSERT_FALSE(seen[handle >> 48]);
    seen[handle >> 48] = true;
  }
  table.remove(slot);
  EXPECT_NE(HandleTable::slot_of(table.add(blocks)), slot) << "a slot is retired when it has served them all";
  EXPECT_EQ(table.find(first), nullptr);
}

TEST_F(HandleTableTest, ItGrowsAndAlwaysTakesTheLowestSlot) {
  std::vector<HandleWord> handles;
  for (size_t i = 0; i < 300'000; ++i) {
    handles.push_back(table.add(blocks));
    ASSERT_EQ(HandleTable::slot_of(handles.back()), i + 1);
  }
  for (const size_t i : {size_t{250'000}, size_t{70'000}, size_t{3}}) table.remove(i);
  EXPECT_EQ(HandleTable::slot_of(table.add(blocks)), 3u);
  EXPECT_EQ(HandleTable::slot_of(table.add(blocks)), 70'000u);
  EXPECT_EQ(HandleTable::slot_of(table.add(blocks)), 250'000u);
  EXPECT_EQ(HandleTable::slot_of(table.add(blocks)), 300'001u);
}

TEST_F(HandleTableTest, ItsEndGoesBackAndTellsOldHandlesFromNewOnes) {
  const std::vector<HandleWord> handles = add(100'000);
  EXPECT_GT(table.bytes(), 800'000u);
  for (size_t i = 10; i < handles.size(); ++i) remove(handles[i]);
  EXPECT_LT(table.bytes(), 50'000u) << "two leaves, and bits";
  EXPECT_EQ(table.check(), nullptr);
  for (size_t i = 10; i < handles.size(); ++i) {
    const HandleWord handle = table.add(blocks);
    ASSERT_EQ(HandleTable::slot_of(handle), HandleTable::slot_of(handles[i]));
    ASSERT_EQ(table.find(handles[i]), nullptr) << i;
    ASSERT_NE(table.find(handle), nullptr);
  }
}

// Between purge() and put_back() other threads may add and remove.
TEST_F(HandleTableTest, NobodyGetsASlotThatIsOnItsWayToTheOS) {
  const size_t count = 2 * kPageSize / 8 + 10;  // slot 0 is nobody's: two leaves and a part
  std::vector<HandleWord> handles = add(count);
  size_t leaf = HandleTable::kNone;
  for (const HandleWord handle : handles) {
    if (handle == handles[0]) continue;
    const size_t other = table.remove(HandleTable::slot_of(handle));
    EXPECT_TRUE(other == HandleTable::kNone || leaf == HandleTable::kNone);
    if (other != HandleTable::kNone) leaf = other;
  }
  EXPECT_EQ(leaf, 2u) << "the higher one of two";
  EXPECT_EQ(table.check(), nullptr);
  for (const HandleWord handle : add(count)) {
    EXPECT_NE(HandleTable::slot_of(handle) * 8 / kPageSize, leaf);
    EXPECT_NE(table.find(handle), nullptr);
  }
  EXPECT_EQ(table.check(), nullptr);
  table.put_back(leaf, table.purge(leaf));
  EXPECT_EQ(table.check(), nullptr);
  EXPECT_EQ(HandleTable::slot_of(table.add(blocks)), leaf * kPageSize / 8) << "the lowest slot is free again";
  EXPECT_EQ(table.find(handles.back()), nullptr);
}

TEST_F(HandleTableTest, WhereSeveralThreadsHaveItAddingAsksTheOSForNothing) {
  table.share();
  EXPECT_FALSE(table.grow(table.slot_limit())) << "nobody wants more";
  add(HandleTable::kStep - 1);
  const size_t limit = table.slot_limit();
  EXPECT_EQ(table.add(blocks), 0u);
  EXPECT_EQ(table.slot_limit(), limit);
  EXPECT_TRUE(table.grow(limit));
  EXPECT_TRUE(table.grow(limit)) << "as another thread finds it";
  EXPECT_EQ(table.slot_limit(), limit + HandleTable::kStep);
  EXPECT_EQ(HandleTable::slot_of(table.add(blocks)), limit);
  EXPECT_FALSE(table.grow(table.slot_limit()));
}

size_t addresses_in_use() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * os::page_size();
}

TEST(HandleTableAddressesTest, ItLeavesTheBlocksTheAddressesWhereTheseAreFew) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes addresses by the tebibyte";
  const auto with_few_addresses = [] {
    const rlimit few{size_t{1} << 30, size_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &few);
    const size_t before = addresses_in_use();
    HandleTable table(0);
    if (!table.open(HandleTable::kMostSlots)) std::exit(2);
    std::exit(addresses_in_use() - before <= few.rlim_cur / 16 && table.check() == nullptr ? 0 : 1);
  };
  EXPECT_EXIT(with_few_addresses(), testing::ExitedWithCode(0), "");
}

TEST(HandleTableInMemoryTest, ItEndsWhereItsMemoryDoes) {
  for (const size_t slots : {2u, 63u, 64u, 65u, 4095u, 4097u}) {
    std::vector<uint64_t> memory(HandleTable::bytes_for(slots) / 8 + 1);
    memory.back() = 0x5a5a;
    HandleTable table(0);
    table.open(memory.data(), slots);
    for (size_t i = 1; i < slots; ++i) ASSERT_EQ(HandleTable::slot_of(table.add(blocks)), i);
    EXPECT_EQ(table.add(blocks), 0u);
    EXPECT_EQ(table.check(), nullptr);
    table.remove(1);
    EXPECT_NE(table.add(blocks), 0u);
    EXPECT_EQ(memory.back(), 0x5a5au);
  }
}

// The table's words, as its header has them: the record of the one leaf, four levels of a word each, bits, slots.
TEST(HandleTableInMemoryTest, CheckSeesWhatWasWrittenOver) {
  constexpr size_t kSlots = 70;
  constexpr size_t kLeaf = 0, kTop = 1, kBits = 5, kFirstSlot = 7;
  std::vector<uint64_t> memory(HandleTable::bytes_for(kSlots) / 8);
  ASSERT_EQ(memory.size(), kFirstSlot + kSlots);
  HandleTable table(0);
  table.open(memory.data(), kSlots);
  table.add(blocks);
  table.remove(HandleTable::slot_of(table.add(blocks)));
  const auto check_with = [&](size_t word, uint64_t change) {
    memory[word] ^= change;
    const char* const broken = table.check();
    memory[word] ^= change;
    return broken;
  };
  EXPECT_STREQ(table.check(), nullptr);
  EXPECT_STREQ(check_with(kTop, uint64_t{1} << 63), "handle table: a slot beyond the table counts as free");
  EXPECT_STREQ(check_with(kBits + 1, uint64_t{1} << 6), "handle table: a slot beyond the table counts as free");
  EXPECT_STREQ(check_with(kLeaf, 1), "handle table: the count of a leaf's slots in use is wrong");
  EXPECT_STREQ(check_with(kLeaf, uint64_t{1} << 31), "handle table: the numbers of a leaf's blocks are none");
  EXPECT_STREQ(check_with(kLeaf, uint64_t{1} << 47), "handle table: the numbers of a leaf's blocks are none");
  EXPECT_STREQ(check_with(kBits, 2), "handle table: a slot in use counts as free");
  EXPECT_STREQ(check_with(kFirstSlot + 2, uint64_t{1} << 20), "handle table: a slot in use counts as free");
}

}  // namespace
}  // namespace snug
