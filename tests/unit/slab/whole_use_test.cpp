// Which classes get huge pages: those that grow, of blocks that the program has been seen to use whole.
#include "slab/whole_use.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "os/system_call_hook.h"
#include "slab/own_heaps.h"

namespace snug {
namespace {

class WholeUseTest : public testing::Test {
 protected:
  WholeUseTest() : heap(*own.registry.acquire()) {}
  void TearDown() override { EXPECT_STREQ(heap.check(), nullptr); }
  // The default table's class of blocks of this size.
  static size_t class_of(size_t size) { return kRoomyTable.class_of(size); }

  unit::OwnHeaps own;
  SlabHeap& heap;
};

// What the OS was advised of for the memory of the last of `count` blocks, each written to up to `written` bytes.
Paging paging_after(unit::OwnHeaps& own, SlabHeap& heap, size_t size_class, size_t count, size_t written) {
  void* block = nullptr;
  for (size_t i = 0; i < count; ++i) {
    block = own.take(heap, size_class, 1)[0];
    std::memset(block, 1, written);
  }
  return own.window.chunk(own.window.page_of(block)).paging;
}

TEST_F(WholeUseTest, GrowthBringsHugePages) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  const size_t blocks = (size_t{8} << 20) / 1024;
  EXPECT_EQ(paging_after(own, heap, class_of(1024), blocks / 4, 1), Paging::kSmall);
  EXPECT_EQ(paging_after(own, heap, class_of(1024), blocks, 1), Paging::kHuge);
}

TEST_F(WholeUseTest, BlocksThatAreUsedWholeHaveHugePages) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  const size_t blocks = (size_t{8} << 20) / 10240;
  EXPECT_EQ(paging_after(own, heap, class_of(10240), blocks, 10240), Paging::kHuge);
}

TEST_F(WholeUseTest, BlocksThatAreUsedInPartHaveSmallPages) {
  const size_t blocks = (size_t{16} << 20) / 10240;
  EXPECT_EQ(paging_after(own, heap, class_of(10240), blocks, 1), Paging::kSmall);
  EXPECT_EQ(paging_after(own, heap, class_of(16384), blocks, 4096), Paging::kSmall);
}

TEST_F(WholeUseTest, BlocksThatAreNotUsedHaveSmallPages) {
  const std::vector<void*> blocks = own.take(heap, class_of(1024), (size_t{8} << 20) / 1024);
  EXPECT_EQ(own.window.chunk(own.window.page_of(blocks.back())).paging, Paging::kSmall);
}

// A class that stays sparse is looked at now and then, not at each new slab.
TEST_F(WholeUseTest, LooksAtUseAreRare) {
  uint64_t slabs = 0;
  uint64_t looks = 0;
  {
    const unit::SystemCallHook count(SYS_openat, [&] { return ++looks != 0; });
    paging_after(own, heap, class_of(10240), (size_t{64} << 20) / 10240, 1);
    slabs = heap.slab_count(class_of(10240));
  }
  EXPECT_GE(looks, 4u);
  EXPECT_LE(looks, slabs / 8 + 4);
}

// In a process of its own, since it is remembered.
Paging paging_without_an_answer(size_t size) {
  unit::OwnHeaps own;
  SlabHeap& heap = *own.registry.acquire();
  const unit::SystemCallHook refusal(SYS_openat, [] { return false; });
  return paging_after(own, heap, kRoomyTable.class_of(size), (size_t{8} << 20) / size, size);
}

TEST(WholeUseDeathTest, WhereTheOsDoesNotSaySmallBlocksAloneHaveHugePages) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  EXPECT_EXIT(_exit(paging_without_an_answer(1024) == Paging::kHuge), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(_exit(paging_without_an_answer(10240) == Paging::kHuge), testing::ExitedWithCode(0), "");
}

// Of blocks of which a slab has one or two, several must be used whole.
TEST_F(WholeUseTest, OneBlockUsedWholeIsNoProof) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  EXPECT_EQ(paging_after(own, heap, class_of(33000), 400, 33000), Paging::kHuge);
  const size_t size_class = class_of(131072);
  void* block = nullptr;
  for (size_t i = 0; i < 200; ++i) {
    block = own.take(heap, size_class, 1)[0];
    std::memset(block, 1, i % 4 == 3 ? 1 : 131072);
  }
  EXPECT_EQ(own.window.chunk(own.window.page_of(block)).paging, Paging::kSmall);
}

}  // namespace
}  // namespace snug
