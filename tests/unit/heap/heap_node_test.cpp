// Heaps of one's own on one NUMA node: as the kernel tells of the pages. Most machines have node 0
// alone.
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "heap/own_heap.h"

namespace snug::own_heap {
namespace {

snug_heap* heap_on(unsigned node, size_t limit = 0) {
  snug_heap_options options = options_of("on a node", limit, SNUG_HEAP_ON_NODE);
  options.node = node;
  return snug_heap_create(&options);
}

// The policy of the page that the address lies on.
int policy_at(const void* address) {
  int mode = -1;
  EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, address, MPOL_F_ADDR), 0);
  return mode;
}

class HeapNodeTest : public OwnHeapTest {
 protected:
  void SetUp() override {
    heap_ = heap_on(0);
    if (heap_ == nullptr && errno != EINVAL) GTEST_SKIP() << "the kernel does not tell of nodes";
    ASSERT_NE(heap_, nullptr);
  }
  void TearDown() override {
    snug_heap_destroy(heap_);
    OwnHeapTest::TearDown();
  }

  snug_heap* heap_ = nullptr;
};

TEST_F(HeapNodeTest, NodesThatAreNotThereAreRefused) {
  for (const unsigned node : {1000u, 1023u, 1024u, 100'000u, UINT_MAX}) {
    errno = 0;
    EXPECT_EQ(heap_on(node), nullptr) << node;
    EXPECT_EQ(errno, EINVAL) << node;
  }
  // Without the flag it is not looked at.
  snug_heap_options options = options_of("anywhere");
  options.node = 1000;
  snug_heap* const heap = snug_heap_create(&options);
  ASSERT_NE(heap, nullptr);
  EXPECT_EQ(policy_at(snug_heap_malloc(heap, 100)), MPOL_DEFAULT);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapNodeTest, BlocksOfEachSizeAreOfTheNode) {
  for (const size_t size : kSizes) {
    const Block block = make(heap_, size, size);
    ASSERT_NE(block.address, nullptr);
    EXPECT_EQ(policy_at(block.address), MPOL_BIND) << size;
    EXPECT_EQ(policy_at(static_cast<char*>(block.address) + (size == 0 ? 0 : size - 1)), MPOL_BIND) << size;
    EXPECT_TRUE(destroy(block));
  }
}

TEST_F(HeapNodeTest, AndStaySoWhenTheyChangeTheirSize) {
  char* block = static_cast<char*>(snug_heap_malloc(heap_, 300 * kKiB));
  for (const size_t size : {4 * kMiB, 48 * kMiB, 100 * kMiB, 40 * kMiB, 3 * kMiB, 300 * kKiB, size_t{100}}) {
    block = static_cast<char*>(snug_heap_realloc(heap_, block, size));
    ASSERT_NE(block, nullptr);
    block[0] = block[size - 1] = 'x';
    EXPECT_EQ(policy_at(block), MPOL_BIND) << size;
    EXPECT_EQ(policy_at(block + size - 1), MPOL_BIND) << size;
  }
}

TEST_F(HeapNodeTest, WhatTheHeapHadServesMallocAsAnyMemory) {
  for (int round = 0; round != 20; ++round) {
    snug_heap* const heap = heap_on(0);
    for (const size_t size : kSizes) ASSERT_NE(make(heap, size, size).address, nullptr);
    snug_free(snug_heap_malloc(heap, kMiB));
    EXPECT_EQ(snug_heap_destroy(heap), 0);
    for (const size_t size : kSizes) {
      void* const block = snug_malloc(size);
      EXPECT_EQ(policy_at(block), MPOL_DEFAULT) << size;
      snug_free(block);
    }
  }
}

}  // namespace
}  // namespace snug::own_heap
