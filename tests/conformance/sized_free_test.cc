// sized_free_test.cc: C23's free_sized and free_aligned_sized, with the size that was asked for.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace {

TEST(FreeSized, frees_blocks_of_malloc_calloc_and_realloc) {
  SUBJECT_MUST_OWN("free_sized");
  snug_stats before{};
  subject::take_stats(before);
  for (const std::size_t size : sizes::around_powers(4 * sizes::kMiB)) {
    subject::free_sized(subject::malloc(size), size);
    subject::free_sized(subject::calloc(1, size), size);
    subject::free_sized(subject::realloc(subject::malloc(100), size + 1), size + 1);
    // Shrunk in place or not, the size that counts is the last one asked for.
    subject::free_sized(subject::realloc(subject::malloc(size * 2 + 1), size + 1), size + 1);
  }
  subject::free_sized(nullptr, 0);
  subject::free_sized(nullptr, 100);
  snug_stats after{};
  if (subject::take_stats(after)) {
    EXPECT_LE(after.blocks_in_use, before.blocks_in_use + 16);
  }
  EXPECT_EQ(subject::check(), nullptr);
}

TEST(FreeSized, keeps_errno) {
  SUBJECT_MUST_OWN("free_sized");
  for (const std::size_t size : sizes::one_of_each()) {
    void* block = subject::malloc(size);
    errno = 4711;
    subject::free_sized(block, size);
    EXPECT_EQ(errno, 4711) << size;
  }
}

TEST(FreeAlignedSized, frees_blocks_of_aligned_alloc) {
  SUBJECT_MUST_OWN("free_aligned_sized");
  snug_stats before{};
  subject::take_stats(before);
  for (std::size_t alignment = 8; alignment <= 2 * sizes::kMiB; alignment *= 4)
    for (const std::size_t size : sizes::one_of_each())
      subject::free_aligned_sized(subject::aligned_alloc(alignment, size), alignment, size);
  subject::free_aligned_sized(nullptr, 64, 100);
  snug_stats after{};
  if (subject::take_stats(after)) {
    EXPECT_LE(after.blocks_in_use, before.blocks_in_use + 16);
  }
  EXPECT_EQ(subject::check(), nullptr);
}

}  // namespace
