// Pages and their counts.
#include "base/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace snug {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
static_assert(Addable<PageId, PageCount>);
static_assert(!Addable<PageId, PageId>, "two places have no sum");
static_assert(std::is_same_v<decltype(PageId{} - PageId{}), PageCount>);
static_assert(!std::is_convertible_v<size_t, PageCount>, "bytes are not pages");

TEST(Units, APageIs16KiBAndAChunk128OfThem) {
  EXPECT_EQ(kPageSize, 16384u);
  EXPECT_EQ(kChunkSize, size_t{2} << 20);
  EXPECT_EQ(kPagesPerChunk, 128u);
}

TEST(Units, PageCountsAddSubtractAndCompare) {
  EXPECT_EQ((PageCount{3} + PageCount{4}).value, 7u);
  EXPECT_EQ((PageCount{7} - PageCount{4}).value, 3u);
  EXPECT_LT(PageCount{3}, PageCount{4});
  EXPECT_EQ(PageCount{3}.bytes(), 3 * kPageSize);
  EXPECT_EQ(PageCount{UINT32_MAX}.bytes(), size_t{UINT32_MAX} * kPageSize) << "bytes need 64 bits";
}

TEST(Units, PageIdsKnowTheirChunk) {
  const PageId last{2 * kPagesPerChunk - 1};
  EXPECT_EQ(last.chunk(), 1u);
  EXPECT_EQ(last.in_chunk(), kPagesPerChunk - 1);
  const PageId next = last + PageCount{1};
  EXPECT_EQ(next.chunk(), 2u);
  EXPECT_EQ(next.in_chunk(), 0u);
  EXPECT_EQ(next - PageCount{1}, last);
  EXPECT_EQ((next - PageId{5}).value, 2 * kPagesPerChunk - 5);
}

}  // namespace
}  // namespace snug
