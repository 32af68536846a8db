// Memory given back to an OS that answers yes and does nothing, as emulators and filters may.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "os/memory.h"
#include "os/system_call_hook.h"
#include "snug/snug.h"

namespace snug {
namespace {

using unit::SystemCallHook;

constexpr size_t kMiB = size_t{1} << 20;

// What a process has learnt of its OS holds for all of its life: each test has a process of its own, from its start.
class PurgeDeathTest : public testing::Test {
 protected:
  PurgeDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static bool is_all(const char* bytes, size_t count, char value) {
    return std::ranges::all_of(std::span(bytes, count), [=](char byte) { return byte == value; });
  }
  static void exit_by(bool is_well) { std::_Exit(is_well ? 0 : 1); }
};

TEST_F(PurgeDeathTest, AnOSThatDoesNothingIsFoundOutByTheFirstPurge) {
  const auto purge_twice = [] {
    auto* const memory = static_cast<char*>(os::map(kMiB, 1));
    std::memset(memory, 'x', kMiB);
    int calls = 0;
    const SystemCallHook nothing(SYS_madvise, [&] { return ++calls, false; }, 0);
    const bool is_found_out = !os::purge(memory, kMiB) && !os::purge(memory, kMiB);
    exit_by(is_found_out && calls == 1 && is_all(memory, kMiB, 'x'));
  };
  EXPECT_EXIT(purge_twice(), testing::ExitedWithCode(0), "");
}

TEST_F(PurgeDeathTest, ARefusalSaysNothingOfTheNextPurge) {
  const auto purge_locked = [] {
    auto* const memory = static_cast<char*>(os::map(kMiB, 1));
    std::memset(memory, 'x', kMiB);
    bool is_refused = false;
    {
      const SystemCallHook locked(SYS_madvise, [] { return false; }, EINVAL);
      is_refused = !os::purge(memory, kMiB) && is_all(memory, kMiB, 'x');
    }
    exit_by(is_refused && os::purge(memory, kMiB) && is_all(memory, kMiB, 0));
  };
  EXPECT_EXIT(purge_locked(), testing::ExitedWithCode(0), "");
}

// Of large blocks, which a calloc purges, and of pages that have gone back to the OS, or so it says.
TEST_F(PurgeDeathTest, CallocClearsWhatTheOSDoesNot) {
  const auto allocate_again = [] {
    const SystemCallHook nothing(SYS_madvise, [] { return false; }, 0);
    bool are_zeros = true;
    for (const size_t size : {size_t{3000}, 100 * kMiB / 1024, 8 * kMiB}) {
      constexpr size_t kBlocks = 20;
      void* blocks[kBlocks];
      for (void*& block : blocks) block = std::memset(snug_malloc(size), 'x', size);
      for (void* const block : blocks) snug_free(block);
      if (size < kMiB) snug_malloc_trim(0);
      for (void*& block : blocks) {
        block = snug_calloc(size, 1);
        are_zeros = are_zeros && is_all(static_cast<char*>(block), size, 0);
      }
      for (void* const block : blocks) snug_free(block);
    }
    exit_by(are_zeros);
  };
  EXPECT_EXIT(allocate_again(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace snug
