// The head table and the heads of the calling thread, on the process's own heap.
#include "thread/head_table.h"

#include <gtest/gtest.h>

#include "allocator/allocator.h"
#include "allocator/blocks.h"

namespace snug {
namespace {

class HeadTableTest : public testing::Test {
 protected:
  void SetUp() override {
    deallocate(allocate(1));  // opens the heap, if nothing else has
    ASSERT_TRUE(allocator.is_open());
  }
};

TEST_F(HeadTableTest, EverySizeLeadsToTheHeadOfItsClass) {
  for (size_t size = 0; size < kHeadsEnd; ++size) {
    size_t beyond = size;
    ASSERT_TRUE(subtract_borrows(&beyond, heads_end));
    const HeadStep step = step_at_distance(beyond);
    ASSERT_EQ(head_of(step), head_of(relative_thread_state(), scaled(allocator.table->class_of(size)))) << size;
    ASSERT_EQ(size_of_step(step), round_up(size, kSmallStep));
  }
}

TEST_F(HeadTableTest, ASizeBeyondIsFoundAgain) {
  for (const size_t size : {kHeadsEnd, kHeadsEnd + 1, size_t{1} << 20, SIZE_MAX - kHeadsEnd, SIZE_MAX}) {
    size_t beyond = size;
    ASSERT_FALSE(subtract_borrows(&beyond, heads_end)) << size;
    EXPECT_EQ(size_at_distance(beyond), size);
  }
}

TEST_F(HeadTableTest, ASizeThatIsFoundTooLargeDoesNotWrap) {
  // What a thread has that looked at the end before the table was opened: the size itself.
  for (const size_t size : {SIZE_MAX, SIZE_MAX - kHeadsEnd + 1}) EXPECT_EQ(size_at_distance(size), SIZE_MAX);
  EXPECT_EQ(size_at_distance(100), 100 + kHeadsEnd);
}

TEST_F(HeadTableTest, TheNewestBlockIsNotCachedTwice) {
  const size_t scaled_class = scaled(allocator.table->class_of(5000));
  const CacheHead& seen = thread_state.heads[scaled_class / kClassScale];
  void* block = allocate(5000);
  void* another = allocate(5000);
  deallocate(block);
  const size_t held = seen.held();
  EXPECT_FALSE(push(relative_thread_state(), scaled_class, block));
  EXPECT_EQ(seen.held(), held);
  deallocate(another);
  EXPECT_EQ(seen.held(), held + 1);
  EXPECT_TRUE(is_newest(head_of(relative_thread_state(), scaled_class), another));
  EXPECT_FALSE(is_newest(head_of(relative_thread_state(), scaled_class), block));
}

TEST_F(HeadTableTest, NullIsNotCached) {
  const size_t scaled_class = scaled(allocator.table->class_of(5000));
  CacheHead* const head = head_of(relative_thread_state(), scaled_class);
  const CacheHead& seen = thread_state.heads[scaled_class / kClassScale];
  void* block = allocate(5000);
  deallocate(allocate(5000));  // leaves room: an array is there, and not full
  const size_t held = seen.held();
  ASSERT_NE(held, 0u);
  void* newest;
  ASSERT_TRUE(pop(head, &newest));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(push_trusted(head, nullptr));
  EXPECT_EQ(seen.held(), held - 1);
  EXPECT_TRUE(push_trusted(head, newest));
  EXPECT_EQ(seen.held(), held);
  EXPECT_EQ(seen.top()[-1], newest);
  deallocate(block);
}

}  // namespace
}  // namespace snug
