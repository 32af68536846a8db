#include "profile/call_tree.h"

#include <memory>

namespace snug {
namespace {

class CallTreeTest : public testing::Test {
 protected:
  uint32_t keep(std::vector<uintptr_t> innermost_first) {
    while (const size_t bytes = tree_.bytes_wanted()) {
      memory_.push_back(std::make_unique<uint64_t[]>(bytes / 8));
      tree_.grow(memory_.back().get(), bytes);
    }
    SampledStack stack;
    for (const uintptr_t frame : innermost_first) stack.frames[stack.count++] = frame;
    return tree_.keep(stack);
  }
  std::vector<uintptr_t> read(uint32_t node) const {
    std::vector<uintptr_t> frames;
    for (; node != 0; node = tree_[node].parent) frames.push_back(tree_[node].address);
    return frames;
  }

  CallTree tree_;
  std::vector<std::unique_ptr<uint64_t[]>> memory_;
};

TEST_F(CallTreeTest, AStackIsReadAsItWasKept) {
  EXPECT_EQ(read(keep({1, 2, 3})), (std::vector<uintptr_t>{1, 2, 3}));
  EXPECT_EQ(read(keep({2, 1, 3})), (std::vector<uintptr_t>{2, 1, 3}));
  EXPECT_EQ(keep({}), 0u);
}

TEST_F(CallTreeTest, EqualStacksAreOneNodeAndCallersAreShared) {
  const uint32_t one = keep({1, 2, 3});
  EXPECT_EQ(keep({1, 2, 3}), one);
  const uint32_t size = tree_.size();
  EXPECT_NE(keep({4, 2, 3}), one);
  EXPECT_EQ(tree_.size(), size + 1);
}

TEST_F(CallTreeTest, ManyStacksAreKeptWhileItGrows) {
  std::vector<uint32_t> nodes;
  for (uintptr_t i = 0; i != 30000; ++i) nodes.push_back(keep({i, i / 7, i / 100, 5}));
  for (uintptr_t i = 0; i != 30000; ++i) {
    EXPECT_EQ(keep({i, i / 7, i / 100, 5}), nodes[i]);
    EXPECT_EQ(read(nodes[i]), (std::vector<uintptr_t>{i, i / 7, i / 100, 5}));
  }
}

TEST(EmptyCallTreeTest, WithoutMemoryEveryStackIsTheRoot) {
  CallTree tree;
  SampledStack stack;
  stack.frames[stack.count++] = 1;
  EXPECT_EQ(tree.keep(stack), 0u);
}

}  // namespace
}  // namespace snug
