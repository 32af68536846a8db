// The page map's arrays: no code may write to what lies around them.
#include "span/page_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "os/memory.h"
#include "span/own_spans.h"

namespace snug::unit {
namespace {

// The kernel puts a mapping right below the one before: an overrun of that one would write to the first entries.
TEST(PageMapDeathTest, ItsArraysLieBetweenPagesThatNobodyCanWriteTo) {
  OwnSpans own;
  if (own.page_map.first_reserved().value != 0) GTEST_SKIP() << "the kernel has chosen the place of the window";
  uintptr_t first = UINTPTR_MAX;
  own.page_map.for_each_array([&](uintptr_t start, uintptr_t) { first = std::min(first, start); });
  const size_t page = os::page_size();
  const uintptr_t end = first + own.page_map.bytes_of_arrays() - 2 * page;
  *at<volatile char>(first) = *at<volatile char>(first);
  EXPECT_EQ(*at<volatile char>(end - 1), 0);
  unsigned char is_resident = 0;
  EXPECT_EQ(::mincore(at<void>(first - page), page, &is_resident), 0) << "the page before is mapped";
  EXPECT_EQ(::mincore(at<void>(end), page, &is_resident), 0) << "the page behind is mapped";
  EXPECT_DEATH(*at<volatile char>(first - 1) = 1, "");
  EXPECT_DEATH(*at<volatile char>(end) = 1, "");
}

}  // namespace
}  // namespace snug::unit
