// What the OS says it holds of a range, and what is made of its silence.
#include "os/residency.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/memory.h"
#include "os/system_call_hook.h"

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
  EXPECT_EQ(held_pages(memory, kPages * page_size()), 0u);
  for (const size_t page : {size_t{0}, size_t{1}, size_t{255}, size_t{256}, kPages - 1}) memory[page * page_size()] = 1;
  EXPECT_EQ(held_pages(memory, kPages * page_size()), 5u);
  EXPECT_EQ(held_pages(memory + page_size(), page_size()), 1u);
  EXPECT_EQ(held_pages(memory + 2 * page_size(), 253 * page_size()), 0u);
  purge(memory, 256 * page_size());
  EXPECT_EQ(held_pages(memory, kPages * page_size()), 2u);
  EXPECT_EQ(errno, EDOM);
  release(memory, kPages * page_size());
}

// In a process of its own, since it is remembered.
TEST(ResidencyDeathTest, AnOsThatRefusesToSayIsAskedOnce) {
  const auto ask_twice = [] {
    static char memory[65536];
    std::memset(memory, 1, sizeof memory);
    int calls = 0;
    {
      const unit::SystemCallHook refusal(SYS_openat, [&] { return ++calls == 0; }, EACCES);
      if (held_pages(memory, page_size()) || held_pages(memory, page_size())) _exit(1);
    }
    _exit(calls == 1 ? 0 : 2);
  };
  EXPECT_EXIT(ask_twice(), testing::ExitedWithCode(0), "");
}

// A process that has too many files open at one moment has fewer at the next.
TEST(Residency, WhatIsRefusedForTheMomentIsAskedAgain) {
  auto* memory = static_cast<char*>(map(4 * page_size(), page_size()));
  ASSERT_NE(memory, nullptr);
  prefer_small_pages(memory, 4 * page_size());
  memory[0] = 1;
  for (const int error : {EMFILE, ENFILE, ENOMEM}) {
    {
      const unit::SystemCallHook refusal(SYS_openat, [] { return false; }, error);
      EXPECT_EQ(held_pages(memory, page_size()), kNothing);
    }
    EXPECT_EQ(held_pages(memory, 4 * page_size()), 1u) << error;
  }
  release(memory, 4 * page_size());
}

}  // namespace
}  // namespace snug::os
