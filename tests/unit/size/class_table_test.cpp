// The tables that malloc runs on: every size finds its class, every block its slot, and slabs waste little.
#include "size/class_table.h"

#include <gtest/gtest.h>

#include <string>

namespace snug {
namespace {

struct NamedTable {
  const char* name;
  const ClassTable& table;
  size_t (*class_of)(size_t);
  size_t (*cached)(size_t);
};

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
    const size_t least = &table == &kRoomyTable ? kLeastCached : 1;
    EXPECT_EQ(one.cached_max, std::max(GetParam().cached(one.block_size), least));
    EXPECT_GE(one.carve_max, 1u);
    EXPECT_LE(one.carve_max * size_t{one.block_size}, std::max<size_t>(one.block_size, 4096));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Both, EveryClassTable,
    testing::Values(NamedTable{"Roomy", kRoomyTable, RoomySizeClassMap::class_of, RoomySizeClassMap::cached},
                    NamedTable{"Dense", kDenseTable, DenseSizeClassMap::class_of, DenseSizeClassMap::cached}),
    [](const testing::TestParamInfo<NamedTable>& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace snug
