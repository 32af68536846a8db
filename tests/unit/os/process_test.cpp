// What the process is told about itself.
#include "os/process.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>

#include "os/system_call_hook.h"

namespace snug::os {
namespace {

// A filter may refuse getrandom: the time would let a neighbour guess the heap's place.
TEST(Process, ASeedIsNoTimeWhereTheOsRefusesOne) {
  const unit::SystemCallHook refusal(SYS_getrandom, [] { return false; }, EPERM);
  const uint64_t seed = random_seed();
  EXPECT_NE(seed >> 32, 0u);
  EXPECT_EQ(random_seed(), seed);
}

TEST(Process, SeedsDiffer) { EXPECT_NE(random_seed(), random_seed()); }

}  // namespace
}  // namespace snug::os
