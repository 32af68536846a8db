// The index of large blocks against std::map: with half its slots in use, probes collide and run around the end.
#include "span/large_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "os/memory.h"

namespace snug {
namespace {

constexpr uintptr_t kOsPage = 4096;

void expect_same(const LargeIndex& index, const std::map<uintptr_t, MappedBlock*>& model) {
  EXPECT_EQ(index.size(), model.size());
  for (const auto& [start, block] : model) ASSERT_EQ(index.find(start), block);
  size_t visited = 0;
  index.for_each([&](const MappedBlock& block) {
    ++visited;
    EXPECT_EQ(model.count(block.start), 1u);
  });
  EXPECT_EQ(visited, model.size());
}

// As the mapping store does, which takes care not to hold its lock meanwhile.
bool prepare(LargeIndex& index) {
  while (!index.promise()) {
    LargeIndex::Table table = index.longer();
    table.slots = static_cast<LargeIndex::Slot*>(os::map(table.bytes(), 1));
    table = index.move_to(table);
    if (table.slots != nullptr) os::purge(table.slots, table.bytes());
  }
  return true;
}

TEST(LargeIndex, EmptyFindsNothing) {
  LargeIndex index;
  EXPECT_EQ(index.find(kOsPage), nullptr);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(index.bytes(), 0u);
  ASSERT_TRUE(prepare(index));
  EXPECT_GT(index.bytes(), 0u);
  EXPECT_EQ(index.find(kOsPage), nullptr);
}

TEST(LargeIndex, FindsByTheStartOnly) {
  LargeIndex index;
  MappedBlock block;
  block.start = 1000 * kOsPage;
  block.usable = 10 * kOsPage;
  ASSERT_TRUE(prepare(index));
  index.insert(&block);
  EXPECT_EQ(index.find(block.start), &block);
  for (uintptr_t wrong : {block.start + 16, block.start - kOsPage, block.start + kOsPage})
    EXPECT_EQ(index.find(wrong), nullptr);
  index.erase(&block);
  EXPECT_EQ(index.find(block.start), nullptr);
}

TEST(LargeIndex, DeletionLeavesNoGap) {
  std::mt19937_64 random(3);
  LargeIndex index;
  ASSERT_TRUE(prepare(index));
  const size_t bytes = index.bytes();
  const size_t most = bytes / sizeof(LargeIndex::Slot) / 2;
  std::vector<MappedBlock> blocks(most);
  std::map<uintptr_t, MappedBlock*> model;
  for (MappedBlock& block : blocks) block.start = (random() % (uint64_t{1} << 35)) * kOsPage;
  for (int step = 0; step < 20000; ++step) {
    MappedBlock& block = blocks[random() % blocks.size()];
    const auto known = model.find(block.start);
    if (known == model.end()) {
      ASSERT_TRUE(prepare(index));
      index.insert(&block);
      model[block.start] = &block;
    } else if (random() % 4 == 0 && known->second == &block) {  // mostly full
      index.erase(&block);
      model.erase(known);
      ASSERT_EQ(index.find(block.start), nullptr);
    }
    if (step % 50 == 0) expect_same(index, model);
  }
  expect_same(index, model);
  EXPECT_LE(index.bytes(), 2 * bytes);
  while (!model.empty()) {
    index.erase(model.begin()->second);
    model.erase(model.begin());
    for (const auto& [start, block] : model) ASSERT_EQ(index.find(start), block);
  }
  expect_same(index, model);
}

TEST(LargeIndex, GrowsAndKeepsItsLoadBelowHalf) {
  LargeIndex index;
  std::map<uintptr_t, MappedBlock*> model;
  std::vector<std::unique_ptr<MappedBlock>> blocks;
  for (uintptr_t i = 1; i <= 5000; ++i) {  // neighbours, as mappings are
    blocks.push_back(std::make_unique<MappedBlock>());
    blocks.back()->start = (uintptr_t{7} << 40) + i * 64 * kOsPage;
    ASSERT_TRUE(prepare(index));
    index.insert(blocks.back().get());
    model[blocks.back()->start] = blocks.back().get();
    ASSERT_LE(index.size() * 2, index.bytes() / sizeof(LargeIndex::Slot));
  }
  expect_same(index, model);
}

// Threads that look their own blocks up while another changes the table find them, or learn that they have to take the
// lock; a start that is none is never found.
TEST(LargeIndex, OwnersFindTheirBlocksWithoutTheLock) {
  constexpr int kThreads = 3;
  LargeIndex index;
  MappedBlock own[kThreads];
  for (MappedBlock& block : own) {
    block.start = static_cast<uintptr_t>(&block - own + 1) * kOsPage;
    ASSERT_TRUE(prepare(index));
    index.insert(&block);
  }
  std::atomic<bool> is_over{false};
  std::atomic<int> known{0};
  std::vector<std::thread> threads;
  for (MappedBlock& block : own)
    threads.emplace_back([&] {
      for (int found = 0; !is_over || found == 0;) {
        const Optional<MappedBlock*> its = index.find_unlocked(block.start);
        const Optional<MappedBlock*> none = index.find_unlocked(block.start + 16);
        if (its && *its != &block) ADD_FAILURE() << "it finds another";
        if (none && *none != nullptr) ADD_FAILURE() << "it finds one that is not there";
        if (its) ++found;
        if (its && found == 1) ++known;
      }
    });
  std::vector<std::unique_ptr<MappedBlock>> blocks;
  std::mt19937_64 random(5);
  for (int step = 0; step < 20000 || known < kThreads; ++step) {
    if (random() % 3 != 0 || blocks.empty()) {
      blocks.push_back(std::make_unique<MappedBlock>());
      blocks.back()->start = (uintptr_t{1} << 40) + static_cast<uintptr_t>(step) * kOsPage;
      ASSERT_TRUE(prepare(index));
      index.insert(blocks.back().get());
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      index.erase(blocks.back().get());
      blocks.pop_back();
    }
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace snug
