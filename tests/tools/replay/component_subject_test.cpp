// Heaps that are no malloc, as the replayer calls them: what it is given is a block of its own, holds what is written,
// and keeps it over a reallocation.
#include "replay/component_subject.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

namespace snug::components {
namespace {

using replayer::Component;
using trace::Operation;

constexpr std::size_t kSizes[] = {0, 1, 16, 17, 100, 1000, 1024, 1025, 5000, 100'000};

class ComponentSubjectTest : public testing::TestWithParam<Component> {
 protected:
  ComponentSubjectTest() {
    EXPECT_TRUE(subject_.begin({.component = GetParam(), .region_bytes = std::uint64_t{64} << 20, .not_full = 1}));
  }
  void* allocate(std::size_t size, std::size_t alignment = 0, Operation operation = Operation::kMalloc) {
    return subject_.allocate(operation, size, alignment);
  }
  // The block's bytes are 1 from there on, as the player writes them.
  bool is_written(void* block, std::size_t from, std::size_t to) {
    const auto* const bytes = static_cast<const unsigned char*>(subject_.address_of(block));
    for (std::size_t i = from; i < to; ++i)
      if (bytes[i] != 1) return false;
    return true;
  }

  ComponentSubject subject_;
};

TEST_P(ComponentSubjectTest, BlocksDoNotLieWithinEachOther) {
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (int round = 0; round < 3; ++round)
    for (const std::size_t size : kSizes) blocks.emplace_back(allocate(size), size);
  std::set<void*> names;
  for (const auto& [block, size] : blocks) {
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(names.insert(block).second);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(subject_.address_of(block)) % 16, 0u);
    subject_.write(block, 0, size);
  }
  // Every other one goes, which may move the rest.
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    std::memset(subject_.address_of(blocks[i].first), 2, blocks[i].second);
    subject_.free(Operation::kFree, blocks[i].first, blocks[i].second, 0);
  }
  for (std::size_t i = 1; i < blocks.size(); i += 2) EXPECT_TRUE(is_written(blocks[i].first, 0, blocks[i].second));
}

TEST_P(ComponentSubjectTest, AReallocationKeepsWhatWasWritten) {
  for (const std::size_t before : kSizes)
    for (const std::size_t after : kSizes) {
      void* const block = allocate(before);
      subject_.write(block, 0, before);
      void* const moved = subject_.reallocate(Operation::kRealloc, block, before, after);
      if (after == 0) {
        EXPECT_EQ(moved, nullptr) << "it has freed the block";
        continue;
      }
      ASSERT_NE(moved, nullptr);
      EXPECT_TRUE(is_written(moved, 0, std::min(before, after))) << before << " to " << after;
      subject_.write(moved, 0, after);
      subject_.free(Operation::kFree, moved, after, 0);
    }
}

TEST_P(ComponentSubjectTest, CallocClears) {
  void* const first = allocate(500);
  subject_.write(first, 0, 500);
  subject_.free(Operation::kFree, first, 500, 0);
  void* const block = allocate(500, 0, Operation::kCalloc);
  const auto* const bytes = static_cast<const unsigned char*>(subject_.address_of(block));
  EXPECT_EQ(std::count(bytes, bytes + 500, 0), 500);
}

TEST_P(ComponentSubjectTest, Alignments) {
  for (const std::size_t alignment : {64, 256, 4096}) {
    void* const block = allocate(2000, alignment, Operation::kAlignedAlloc);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(subject_.address_of(block)) % alignment, 0u);
    subject_.write(block, 0, 2000);
    subject_.free(Operation::kFree, block, 2000, alignment);
  }
}

std::string name_of(const testing::TestParamInfo<Component>& test) {
  return test.param == Component::kCell ? "cell" : test.param == Component::kPool ? "pool" : "compact";
}

INSTANTIATE_TEST_SUITE_P(Each, ComponentSubjectTest,
                         testing::Values(Component::kCell, Component::kPool, Component::kCompact), name_of);

// None of these heaps has more than the region.
TEST(CellComponentTest, HasNoMoreThanItsRegion) {
  const auto subject = std::make_unique<ComponentSubject>();
  ASSERT_TRUE(subject->begin({.component = Component::kCell, .region_bytes = 1 << 20, .not_full = 1}));
  EXPECT_EQ(subject->allocate(Operation::kMalloc, 2 << 20, 0), nullptr);
  EXPECT_NE(subject->allocate(Operation::kMalloc, 1 << 19, 0), nullptr);
}

TEST(PoolComponentTest, AReallocationWithinAPoolStaysWhereItIs) {
  ComponentSubject subject;
  ASSERT_TRUE(subject.begin({.component = Component::kPool, .region_bytes = 0, .not_full = 1}));
  void* const block = subject.allocate(Operation::kMalloc, 97, 0);
  EXPECT_EQ(subject.reallocate(Operation::kRealloc, block, 97, 112), block);
  EXPECT_NE(subject.reallocate(Operation::kRealloc, block, 112, 113), block);
}

}  // namespace
}  // namespace snug::components
