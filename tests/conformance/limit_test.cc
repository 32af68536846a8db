// limit_test.cc: requests that cannot be served, and errno.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <vector>

namespace {

constexpr std::size_t kMax = PTRDIFF_MAX;

TEST(Limit, malloc_refuses_what_no_pointer_difference_spans) {
  for (const std::size_t size : {kMax, kMax - 1, kMax - 4096, kMax - 2 * sizes::kMiB, kMax + 1, SIZE_MAX, SIZE_MAX - 1,
                                 SIZE_MAX - 15, SIZE_MAX - 4095, SIZE_MAX - 65536, SIZE_MAX - 2 * sizes::kMiB}) {
    errno = 0;
    EXPECT_EQ(subject::malloc(size), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM) << size;
  }
}

TEST(Limit, calloc_refuses_overflow) {
  for (const auto& [count, size] : {std::pair<std::size_t, std::size_t>{SIZE_MAX, 2},
                                    {2, SIZE_MAX},
                                    {SIZE_MAX, SIZE_MAX},
                                    {std::size_t{1} << 32, std::size_t{1} << 32},
                                    {(std::size_t{1} << 32) + 1, std::size_t{1} << 32},
                                    {SIZE_MAX / 16 + 2, 16},
                                    {SIZE_MAX / 3 + 1, 3},
                                    {1, kMax},
                                    {kMax, 1},
                                    {1, SIZE_MAX},
                                    {(std::size_t{1} << 33) + 1, std::size_t{1} << 31}}) {
    errno = 0;
    EXPECT_EQ(subject::calloc(count, size), nullptr) << count << " * " << size;
    EXPECT_EQ(errno, ENOMEM) << count << " * " << size;
  }
}

TEST(Limit, a_refusal_leaves_the_heap_usable) {
  void* block = subject::malloc(1000);
  pattern::fill(block, 1000, 5);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(subject::malloc(kMax), nullptr);
    void* small = subject::malloc(64);
    EXPECT_NE(small, nullptr);
    subject::free(small);
  }
  EXPECT_TRUE(pattern::intact(block, 1000, 5));
  subject::free(block);
  EXPECT_EQ(subject::check(), nullptr);
}

// More than the machine's 47-bit address space, less than PTRDIFF_MAX: passes the size checks, the OS refuses.
TEST(Limit, the_refusal_of_the_os_is_enomem) {
  for (const unsigned bits : {47u, 50u, 56u, 60u}) {
    errno = 0;
    EXPECT_EQ(subject::malloc(std::size_t{1} << bits), nullptr) << bits;
    EXPECT_EQ(errno, ENOMEM) << bits;
    errno = 0;
    EXPECT_EQ(subject::calloc(std::size_t{1} << (bits - 4), 16), nullptr) << bits;
    EXPECT_EQ(errno, ENOMEM) << bits;
  }
}

TEST(Errno, is_kept_by_free) {
  // Large and huge blocks go back to the OS here and now; munmap or madvise may set errno on their way.
  for (const std::size_t size : sizes::one_of_each()) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < (size > sizes::kMiB ? 10u : 100u); ++i) blocks.push_back(subject::malloc(size));
    for (void* block : blocks) {
      errno = 4711;
      subject::free(block);
      ASSERT_EQ(errno, 4711) << size;
    }
  }
  errno = 4711;
  subject::free(nullptr);
  EXPECT_EQ(errno, 4711);
}

TEST(Errno, is_kept_by_allocations_that_succeed) {
  // Not demanded by C, yet glibc does it unless the OS call set errno; snug promises no more than glibc does.
  errno = 4711;
  for (int i = 0; i < 100; ++i) subject::free(subject::malloc(100));
  EXPECT_EQ(errno, 4711);
}

}  // namespace
