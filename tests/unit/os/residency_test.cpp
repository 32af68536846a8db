// What the OS says it holds of a range.
#include "os/residency.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "os/held_pages.h"
#include "os/memory.h"

namespace snug::os {
namespace {

// The first purge of a process looks at a page afterwards, which is then there.
void purge_first() {
  void* const memory = map(page_size(), page_size());
  purge(memory, page_size());
  release(memory, page_size());
}

TEST(Residency, WhatWasTouchedIsHeldUntilItIsGivenBack) {
  purge_first();
  // More than one reading of the OS's answers, which begin in the middle of a file.
  constexpr size_t kPages = 1000;
  auto* memory = static_cast<char*>(map(kPages * page_size(), page_size()));
  ASSERT_NE(memory, nullptr);
  prefer_small_pages(memory, kPages * page_size());
  errno = EDOM;
  EXPECT_EQ(unit::held_pages(memory, kPages * page_size()), 0u);
  for (const size_t page : {size_t{0}, size_t{1}, size_t{255}, size_t{256}, kPages - 1}) memory[page * page_size()] = 1;
  EXPECT_EQ(unit::held_pages(memory, kPages * page_size()), 5u);
  EXPECT_EQ(unit::held_pages(memory + page_size(), page_size()), 1u);
  EXPECT_EQ(unit::held_pages(memory + 2 * page_size(), 253 * page_size()), 0u);
  purge(memory, 256 * page_size());
  EXPECT_EQ(unit::held_pages(memory, kPages * page_size()), 2u);
  EXPECT_EQ(errno, EDOM);
  release(memory, kPages * page_size());
}

}  // namespace
}  // namespace snug::os
