// OwnHeap: a cell heap of a test's own, over one region.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

#include "snug/cell_heap.h"

namespace snug::unit {

inline constexpr size_t kBytes = size_t{64} << 10;

template <class Policy = CellPolicy>
struct OwnHeap {
  std::unique_ptr<char[]> memory = std::make_unique<char[]>(kBytes);
  CellHeap<Policy> heap;
  OwnHeap() { EXPECT_STREQ(heap.add_region(memory.get(), kBytes), nullptr); }
};

}  // namespace snug::unit
