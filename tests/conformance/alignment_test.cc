// alignment_test.cc: aligned_alloc, posix_memalign, memalign, valloc and pvalloc.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

namespace {

constexpr std::size_t kSizes[] = {0,    1,    8,    15,    16,    17,     63,     64,      100,    1000,
                                  4095, 4096, 4097, 20000, 65536, 100000, 300000, 1048577, 3000000};

template <class Allocate>
void expect_aligned(Allocate allocate) {
  std::vector<std::pair<void*, std::size_t>> live;
  for (std::size_t alignment = 8; alignment <= 2 * sizes::kMiB; alignment *= 2) {
    live.clear();
    for (const std::size_t size : kSizes)
      for (int copy = 0; copy < 3; ++copy) {
        void* block = allocate(alignment, size);
        ASSERT_NE(block, nullptr) << alignment << ' ' << size;
        ASSERT_TRUE(pattern::aligned(block, alignment)) << alignment << ' ' << size;
        ASSERT_GE(subject::malloc_usable_size(block), size);
        pattern::fill(block, size, live.size());
        live.emplace_back(block, size);
      }
    for (std::size_t i = 0; i < live.size(); ++i) {
      ASSERT_TRUE(pattern::intact(live[i].first, live[i].second, i)) << alignment << ' ' << live[i].second;
      subject::free(live[i].first);
    }
  }
}

TEST(AlignedAlloc, aligns) {
  expect_aligned([](std::size_t alignment, std::size_t size) { return subject::aligned_alloc(alignment, size); });
}

TEST(Memalign, aligns) {
  expect_aligned([](std::size_t alignment, std::size_t size) { return subject::memalign(alignment, size); });
}

TEST(PosixMemalign, aligns) {
  expect_aligned([](std::size_t alignment, std::size_t size) {
    void* block = nullptr;
    return subject::posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
  });
}

TEST(PosixMemalign, refuses_bad_alignments) {
  int mark = 0;
  for (const std::size_t bad : {0, 1, 2, 3, 4, 7, 9, 12, 24, 48, 100, 4095, 4097, 6144}) {
    void* block = &mark;
    errno = 77;
    EXPECT_EQ(subject::posix_memalign(&block, bad, 100), EINVAL) << bad;
    EXPECT_EQ(block, &mark) << "the pointer was touched, alignment " << bad;
    EXPECT_EQ(errno, 77) << "errno was touched, alignment " << bad;
  }
}

TEST(PosixMemalign, reports_exhaustion) {
  int mark = 0;
  for (const std::size_t alignment : {std::size_t{8}, std::size_t{64}, std::size_t{4096}, 2 * sizes::kMiB})
    for (const std::size_t size : {std::size_t{PTRDIFF_MAX}, SIZE_MAX, SIZE_MAX - alignment, SIZE_MAX - alignment + 1,
                                   std::size_t{PTRDIFF_MAX} - alignment}) {
      void* block = &mark;
      errno = 77;
      EXPECT_EQ(subject::posix_memalign(&block, alignment, size), ENOMEM) << alignment << ' ' << size;
      EXPECT_EQ(block, &mark);
      // POSIX leaves errno unspecified here; glibc sets it, and programs that were written on it look.
      EXPECT_EQ(errno, ENOMEM) << alignment << ' ' << size;
    }
}

TEST(PosixMemalign, keeps_errno_on_success) {
  errno = 77;
  void* block = nullptr;
  ASSERT_EQ(subject::posix_memalign(&block, 64, 100), 0);
  EXPECT_EQ(errno, 77);
  subject::free(block);
}

// C17: an unsupported alignment fails. glibc before 2.38 rounds it up instead.
TEST(AlignedAlloc, refuses_bad_alignments) {
  SUBJECT_MUST_BE_SNUG();
  for (const std::size_t bad : {0, 3, 6, 7, 12, 24, 48, 4097}) {
    errno = 0;
    EXPECT_EQ(subject::aligned_alloc(bad, 96), nullptr) << bad;
    EXPECT_EQ(errno, EINVAL) << bad;
  }
}

TEST(AlignedAlloc, refuses_impossible_requests) {
  for (const std::size_t alignment : {std::size_t{16}, std::size_t{4096}, 2 * sizes::kMiB})
    for (const std::size_t size : {std::size_t{PTRDIFF_MAX}, SIZE_MAX, SIZE_MAX - alignment + 1}) {
      errno = 0;
      EXPECT_EQ(subject::aligned_alloc(alignment, size), nullptr) << alignment << ' ' << size;
      EXPECT_EQ(errno, ENOMEM);
      errno = 0;
      EXPECT_EQ(subject::memalign(alignment, size), nullptr) << alignment << ' ' << size;
      EXPECT_EQ(errno, ENOMEM);
    }
  // The alignment alone exceeds any address space.
  EXPECT_EQ(subject::memalign(std::size_t{1} << 62, 16), nullptr);
  EXPECT_EQ(subject::aligned_alloc(std::size_t{1} << 63, 16), nullptr);
}

TEST(AlignedAlloc, serves_alignments_beyond_a_chunk) {
  for (std::size_t alignment = 4 * sizes::kMiB; alignment <= 64 * sizes::kMiB; alignment *= 2) {
    void* block = subject::aligned_alloc(alignment, 100);
    ASSERT_NE(block, nullptr) << alignment;
    EXPECT_TRUE(pattern::aligned(block, alignment)) << alignment;
    pattern::fill(block, 100, 1);
    subject::free(block);
  }
}

// Small alignments are still alignments of malloc.
TEST(AlignedAlloc, serves_tiny_alignments) {
  for (const std::size_t alignment : {1, 2, 4}) {
    void* block = subject::aligned_alloc(alignment, 40);
    ASSERT_NE(block, nullptr) << alignment;
    pattern::fill(block, 40, 1);
    subject::free(block);
  }
}

TEST(Valloc, aligns_to_os_pages) {
  SUBJECT_MUST_OWN("valloc");
  const auto os_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t size : kSizes) {
    void* block = subject::valloc(size);
    ASSERT_NE(block, nullptr) << size;
    EXPECT_TRUE(pattern::aligned(block, os_page)) << size;
    pattern::fill(block, size, 1);
    subject::free(block);
  }
  errno = 0;
  EXPECT_EQ(subject::valloc(SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Pvalloc, rounds_up_to_whole_os_pages) {
  SUBJECT_MUST_OWN("pvalloc");
  const auto os_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t size : kSizes) {
    void* block = subject::pvalloc(size);
    ASSERT_NE(block, nullptr) << size;
    const std::size_t rounded = (size + os_page - 1) / os_page * os_page;
    EXPECT_TRUE(pattern::aligned(block, os_page)) << size;
    EXPECT_GE(subject::malloc_usable_size(block), rounded) << size;
    pattern::fill(block, rounded, 1);
    subject::free(block);
  }
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - os_page / 2, std::size_t{PTRDIFF_MAX}}) {
    errno = 0;
    EXPECT_EQ(subject::pvalloc(size), nullptr) << "rounding overflows for " << size;
    EXPECT_EQ(errno, ENOMEM);
  }
}

}  // namespace
