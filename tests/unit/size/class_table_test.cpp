// The tables that malloc runs on: every size finds its class, every block its slot, and slabs waste little.
#include "size/class_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace snug {
namespace {

struct NamedTable {
  const char* name;
  const ClassTable& table;
  size_t (*class_of)(size_t);
  size_t (*cached)(size_t);
};

// What no map of the family is: uneven steps, classes next to each other at both ends of each step's range, huge gaps.
constexpr ClassList uneven_list() {
  ClassList list;
  for (const size_t size : {16, 48, 1008, 1024, 1280, 1536, 65280, 65536, 69632, 258048, 262144}) list.add(size, 7);
  return list;
}
constexpr ClassTable kUnevenTable = make_class_table(uneven_list());

size_t class_in(const ClassList& list, size_t size) {
  size_t c = 1;
  while (list.rows[c].size < size) ++c;
  return c;
}

size_t uneven_class_of(size_t size) {
  static constexpr ClassList kList = uneven_list();
  return class_in(kList, size);
}

size_t default_class_of(size_t size) {
  static constexpr ClassList kList = default_class_list();
  return class_in(kList, size);
}

class EveryClassTable : public testing::TestWithParam<NamedTable> {
 protected:
  const ClassTable& table = GetParam().table;
};

TEST_P(EveryClassTable, ClassOfEverySize) {
  EXPECT_EQ(table.class_of(0), 1u) << "malloc(0) yields a block of its own";
  for (size_t s = 1; s <= table.max_size; ++s) {
    const size_t c = table.class_of(s);
    ASSERT_EQ(c, GetParam().class_of(s)) << "size " << s;
    ASSERT_GE(table.classes[c].block_size, s);
    ASSERT_LT(table.classes[c - 1].block_size, s);
  }
  EXPECT_EQ(table.class_of(table.max_size), table.count - 1u);
}

TEST_P(EveryClassTable, SlotsAreExact) {
  for (size_t c = 1; c < table.count; ++c) {
    const SizeClass& one = table.classes[c];
    for (size_t slot = 0; slot < one.blocks_per_slab; ++slot) {
      const size_t offset = slot * one.block_size;
      ASSERT_EQ(one.slot_of(offset), slot);
      // An address inside a block is told by this product, so that a slot too high does no harm, but one too low would.
      for (size_t inside : {size_t{1}, size_t{16}, one.block_size / 2 + size_t{1}, one.block_size - size_t{1}}) {
        if (inside >= one.block_size) continue;
        ASSERT_NE(one.slot_of(offset + inside) * one.block_size, offset + inside) << "class " << c;
        ASSERT_GE(one.slot_of(offset + inside), slot);
      }
    }
  }
}

TEST_P(EveryClassTable, SlabsAreBounded) {
  for (size_t c = 1; c < table.count; ++c) {
    const SizeClass& one = table.classes[c];
    SCOPED_TRACE("class " + std::to_string(c) + ", blocks of " + std::to_string(one.block_size));
    const size_t bytes = one.pages_per_slab * kPageSize;
    const size_t used = size_t{one.blocks_per_slab} * one.block_size;
    EXPECT_GE(one.blocks_per_slab, 1u);
    EXPECT_LE(one.blocks_per_slab, kMaxBlocksPerSlab);
    EXPECT_GE(one.pages_per_slab, 1u);
    EXPECT_LE(one.pages_per_slab, kPagesPerChunk);
    EXPECT_EQ(one.pages_per_slab, pages_for_slab(one.block_size));
    ASSERT_LE(used, bytes);
    EXPECT_LE((bytes - used) * 8, bytes) << "wastes more than an eighth";
  }
}

TEST_P(EveryClassTable, SlabAlignmentAlignsEveryBlock) {
  for (size_t c = 1; c < table.count; ++c) {
    const SizeClass& one = table.classes[c];
    size_t power = 1;
    while (one.block_size % (2 * power) == 0) power *= 2;
    EXPECT_EQ(one.slab_alignment(), power <= kPageSize ? 1 : power / kPageSize) << "blocks of " << one.block_size;
    EXPECT_LE(one.slab_alignment(), kPagesPerChunk);
  }
}

TEST_P(EveryClassTable, CachesWhatTheMapSays) {
  for (size_t c = 1; c < table.count; ++c) {
    const SizeClass& one = table.classes[c];
    EXPECT_EQ(one.cached_max, GetParam().cached(one.block_size));
    EXPECT_GE(one.carve_max, 1u);
    EXPECT_LE(one.carve_max * size_t{one.block_size}, std::max<size_t>(one.block_size, 4096));
  }
}

// Every size that a class may have, in a map of any kind.
TEST(SizeClass, SlabsOfEverySizeAreBounded) {
  for (size_t size = kSmallStep; size <= kLargestSizeMax; size += step_at(size + 1)) {
    SCOPED_TRACE("blocks of " + std::to_string(size));
    const SizeClass one = make_size_class(size, 1);
    const size_t bytes = one.pages_per_slab * kPageSize;
    if (size <= 32768) {
      ASSERT_GE(one.blocks_per_slab, 4u);
    } else if (size % kPageSize == 0) {
      ASSERT_EQ(one.blocks_per_slab, 1u);
    } else {
      ASSERT_LE(one.blocks_per_slab, 4u);
    }
    ASSERT_LE(one.blocks_per_slab, kMaxBlocksPerSlab);
    ASSERT_LE(one.pages_per_slab, kPagesPerChunk);
    ASSERT_LE(one.slab_alignment(), kPagesPerChunk);
    ASSERT_LE((bytes - one.blocks_per_slab * size) * 7, bytes) << "wastes more than a seventh";
  }
}

TEST(ClassList, FaultsOfAClass) {
  ClassList list;
  EXPECT_STREQ(list.fault_of_end(), "no class at all");
  EXPECT_EQ(list.fault_of(16, 1), nullptr);
  for (const size_t size : {0, 8, 1032, 1040, 65792})
    EXPECT_STREQ(list.fault_of(size, 1), "the size is no multiple of 16, or above 1024 of 256, or above 65536 of 4096")
        << size;
  for (const size_t size : {1024, 1280, 65536, 69632, 262144}) EXPECT_EQ(list.fault_of(size, 1023), nullptr) << size;
  EXPECT_STREQ(list.fault_of(262160, 1), "the size is beyond 262144");
  for (const size_t cached : {0, 1024})
    EXPECT_STREQ(list.fault_of(16, cached), "the cached blocks are not from 1 to 1023");
  list.add(64, 1);
  for (const size_t size : {16, 64}) EXPECT_STREQ(list.fault_of(size, 1), "the size is not above the one before");
  EXPECT_STREQ(list.fault_of_end(), "the largest class is below 65536, where every request needs a class");
  for (size_t size = 80; list.count < kMaxClasses - 1; size += 16) list.add(size, 1);
  EXPECT_EQ(list.fault_of(65536, 1), nullptr);
  list.add(65536, 1);
  EXPECT_EQ(list.fault_of_end(), nullptr);
  EXPECT_STREQ(list.fault_of(69632, 1), "too many classes: at most 83");
}

TEST(ClassList, FaultsOfAMap) {
  EXPECT_EQ(fault_of_map({3, 4, 8, 17, 128, 16}), nullptr);
  EXPECT_STREQ(fault_of_map({3, 4, 10, 17, 128, 16}), "too many classes: at most 83");
  EXPECT_STREQ(fault_of_map({3, 3, 8, 17, 128, 16}),
               "the size is no multiple of 16, or above 1024 of 256, or above 65536 of 4096");
  EXPECT_STREQ(fault_of_map({3, 4, 8, 15, 128, 16}),
               "the largest class is below 65536, where every request needs a class");
  EXPECT_STREQ(fault_of_map({2, 4, 8, 19, 128, 16}), "the size is beyond 262144");
  EXPECT_STREQ(fault_of_map({3, 4, 8, 17, 1024, 17}), "the cached blocks are not from 1 to 1023");
}

// The default has every class of its map, and one more.
TEST(ClassList, DefaultHasAClassForAPageWithAHeader) {
  const ClassList list = default_class_list();
  EXPECT_EQ(list.count, DefaultSizeClassMap::kLargestClass + 2);
  for (size_t c = 1; c <= DefaultSizeClassMap::kLargestClass; ++c) {
    const size_t size = DefaultSizeClassMap::size(c);
    EXPECT_EQ(list.rows[class_in(list, size)].size, size);
  }
  EXPECT_EQ(list.rows[class_in(list, 4097)].size, kPageWithHeader);
  EXPECT_EQ(list.rows[class_in(list, kPageWithHeader + 1)].size, 5120u);
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryClassTable,
    testing::Values(NamedTable{"Roomy", kRoomyTable, default_class_of, DefaultSizeClassMap::cached},
                    NamedTable{"Dense", kDenseTable, DenseSizeClassMap::class_of, DenseSizeClassMap::cached},
                    NamedTable{"Uneven", kUnevenTable, uneven_class_of, [](size_t) -> size_t { return 7; }}),
    [](const testing::TestParamInfo<NamedTable>& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace snug
