// What the first touch by the clock leaves behind.
#include "span/first_touch.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "os/held_pages.h"
#include "os/memory.h"

namespace snug {
namespace {

TEST(FirstTouch, ReachesEveryPageAndKeepsWhatTheyHold) {
  constexpr size_t kBytes = size_t{64} << 10;
  auto* memory = static_cast<char*>(os::map(kBytes, os::page_size()));
  ASSERT_NE(memory, nullptr);
  memory[0] = 7;
  memory[kBytes - os::page_size()] = 9;
  errno = EDOM;
  EXPECT_GT(time_first_touch(memory, kBytes), 0u);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ(memory[kBytes - os::page_size()], 9);
  EXPECT_EQ(unit::held_pages(memory, kBytes), kBytes / os::page_size());
  os::release(memory, kBytes);
}

}  // namespace
}  // namespace snug
