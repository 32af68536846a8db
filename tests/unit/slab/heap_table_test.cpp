// What the check() of heaps and threads sees: each part of what the heap table's header states, broken on purpose.
#include "slab/heap_table.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/std_atomics.h"
#include "slab/own_heaps.h"
#include "slab/slab.h"

namespace snug {
namespace {

// What the heap table asks of a heap.
struct BareHeap {
  struct Visit {
    explicit Visit(BareHeap&) {}
  };
  size_t id() const { return own_id; }
  size_t thread_count() const { return threads; }
  void set_thread_count(size_t count) { threads = count; }
  size_t slab_count() const { return slabs; }
  static bool has_mail() { return false; }
  void leave_unattended() {}
  void open_all_mail() {}

  size_t own_id = 0;
  size_t threads = 0;
  size_t slabs = 0;
};

TEST(HeapTable, HasNothingToGiveBeforeItIsOpen) {
  HeapTable<BareHeap, StdAtomics, SharedLock> heap_table;
  EXPECT_EQ(heap_table.abandoned_count(), 0u);
  heap_table.visit_all([](BareHeap&) {});
  EXPECT_STREQ(heap_table.check(), nullptr);
}

TEST(HeapTable, CheckSeesEachBrokenPart) {
  using Table = HeapTable<BareHeap, StdAtomics, SharedLock>;
  BareHeap heaps[3];
  Table::Places<4> places{};
  Table heap_table;
  heap_table.open(places);
  const auto make = [&](uint16_t id) {
    heaps[id - 1].own_id = id;
    return &heaps[id - 1];
  };
  BareHeap& living = *heap_table.take(make);
  BareHeap& abandoned = *heap_table.take(make);
  BareHeap& spare = *heap_table.take(make);
  abandoned.slabs = 1;
  heap_table.leave(abandoned, [](BareHeap&) {});
  heap_table.leave(spare, [](BareHeap&) {});
  heap_table.visit_all([](BareHeap&) {});
  EXPECT_EQ(heap_table.abandoned_count(), 1u);
  const auto expect_told = [&](auto& word, auto planted, const char* told) {
    const auto right = std::exchange(word, planted);
    EXPECT_STREQ(heap_table.check(), told);
    word = right;
    EXPECT_STREQ(heap_table.check(), nullptr);
  };
  EXPECT_STREQ(heap_table.check(), nullptr);
  expect_told(living.threads, 2u, "heap table: the count of threads is wrong");
  expect_told(living.threads, 0u, "heap table: the count of threads is wrong");
  expect_told(abandoned.threads, 1u, "heap table: an abandoned heap has a thread, or is spare");
  expect_told(spare.threads, 1u, "heap table: a spare heap has a thread, or slabs");
  expect_told(spare.slabs, 1u, "heap table: a spare heap has a thread, or slabs");
  places.spare[0].fetch_or(uint64_t{1} << abandoned.id());
  EXPECT_STREQ(heap_table.check(), "heap table: an abandoned heap has a thread, or is spare");
  places.spare[0].fetch_and(~(uint64_t{1} << abandoned.id()));
  EXPECT_STREQ(heap_table.check(), nullptr);
  heap_table.bound(0);
  EXPECT_STREQ(heap_table.check(), "heap table: more heaps have threads than may");
}

TEST(HeapRegistry, CheckSeesTheHeapTableAndEveryHeap) {
  unit::OwnHeaps own;
  SlabHeap& heap = *own.registry.acquire();
  const size_t c = kRoomyTable.class_of(64);
  const std::vector<void*> blocks = unit::OwnHeaps::take(heap, c, 3);
  EXPECT_STREQ(own.registry.check(), nullptr);
  own.registry.bound(0);
  EXPECT_STREQ(own.registry.check(), "heap table: more heaps have threads than may");
  own.registry.bound(1);
  EXPECT_STREQ(own.registry.check(), nullptr);
  Slab& slab = *own.page_map.entry(own.page_map.page_of(blocks[0])).record<Slab>();
  ++slab.free_count;
  EXPECT_STREQ(own.registry.check(), "slab: the count of free blocks is wrong");
  --slab.free_count;
  unit::OwnHeaps::give(heap, c, blocks);
}

TEST(HeapRegistry, CheckSeesSlabsThatAreInNoList) {
  unit::OwnHeaps own;
  SlabHeap& heap = *own.registry.acquire();
  const size_t c = kRoomyTable.class_of(64);
  const std::vector<void*> blocks = unit::OwnHeaps::take(heap, c, kRoomyTable.classes[c].blocks_per_slab);
  Slab& slab = *own.page_map.entry(own.page_map.page_of(blocks[0])).record<Slab>();
  ASSERT_TRUE(slab.full);
  EXPECT_STREQ(own.registry.check(), nullptr);
  const size_t word = slab.first_word;
  slab.free_bits()[word] |= 2;
  EXPECT_STREQ(own.registry.check(), "slab: the count of free blocks is wrong");
  slab.free_count = 1;
  EXPECT_STREQ(own.registry.check(), "slab: in the wrong list");
  slab.free_bits()[word] = slab.free_count = 0;
  unit::OwnHeaps::give(heap, c, blocks);
  EXPECT_STREQ(own.registry.check(), nullptr);
}

}  // namespace
}  // namespace snug
