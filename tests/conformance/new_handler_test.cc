// new_handler_test.cc: operator new calls the new handler again and again until memory comes, the handler throws, or
// there is none (global subject only).
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <new>

namespace {

volatile std::size_t impossible_size = PTRDIFF_MAX;
int calls = 0;

struct HandlerGaveUp {};

class NewHandler : public testing::Test {
 protected:
  void SetUp() override { calls = 0; }
  void TearDown() override { std::set_new_handler(nullptr); }
};

void give_up_after_three() {
  if (++calls == 3) std::set_new_handler(nullptr);
}

void throw_own_exception() {
  ++calls;
  throw HandlerGaveUp{};
}

void throw_bad_alloc_at_the_second() {
  if (++calls == 2) throw std::bad_alloc{};
}

TEST_F(NewHandler, is_retried_until_there_is_none) {
  std::set_new_handler(give_up_after_three);
  EXPECT_THROW((void)::operator new(impossible_size), std::bad_alloc);
  EXPECT_EQ(calls, 3);
  calls = 0;
  std::set_new_handler(give_up_after_three);
  EXPECT_THROW((void)::operator new[](impossible_size), std::bad_alloc);
  EXPECT_EQ(calls, 3);
  calls = 0;
  std::set_new_handler(give_up_after_three);
  EXPECT_THROW((void)::operator new(impossible_size, std::align_val_t{64}), std::bad_alloc);
  EXPECT_EQ(calls, 3);
}

TEST_F(NewHandler, is_called_by_the_nothrow_forms) {
  std::set_new_handler(give_up_after_three);
  EXPECT_EQ(::operator new(impossible_size, std::nothrow), nullptr);
  EXPECT_EQ(calls, 3);
  calls = 0;
  std::set_new_handler(give_up_after_three);
  EXPECT_EQ(::operator new[](impossible_size, std::align_val_t{64}, std::nothrow), nullptr);
  EXPECT_EQ(calls, 3);
}

TEST_F(NewHandler, may_throw_through_new) {
  std::set_new_handler(throw_own_exception);
  EXPECT_THROW((void)::operator new(impossible_size), HandlerGaveUp);
  EXPECT_THROW((void)::operator new[](impossible_size), HandlerGaveUp);
  EXPECT_THROW((void)::operator new(impossible_size, std::align_val_t{64}), HandlerGaveUp);
  EXPECT_EQ(calls, 3);
}

TEST_F(NewHandler, that_throws_makes_nothrow_new_return_null) {
  for (int form = 0; form < 4; ++form) {
    calls = 0;
    std::set_new_handler(throw_bad_alloc_at_the_second);
    void* block = &calls;
    switch (form) {
      case 0:
        block = ::operator new(impossible_size, std::nothrow);
        break;
      case 1:
        block = ::operator new[](impossible_size, std::nothrow);
        break;
      case 2:
        block = ::operator new(impossible_size, std::align_val_t{64}, std::nothrow);
        break;
      default:
        block = ::operator new[](impossible_size, std::align_val_t{64}, std::nothrow);
        break;
    }
    EXPECT_EQ(block, nullptr) << form;
    EXPECT_EQ(calls, 2) << form;
  }
}

TEST_F(NewHandler, is_not_called_by_malloc) {
  std::set_new_handler(throw_own_exception);
  EXPECT_EQ(subject::malloc(impossible_size), nullptr);
  EXPECT_EQ(calls, 0);
}

// A handler that frees memory: here, by lifting the limit that made the allocation fail.
rlimit lifted;

void lift_the_limit() {
  if (++calls == 2) setrlimit(RLIMIT_AS, &lifted);
}

std::size_t address_space_in_use() {
  std::size_t os_pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu", &os_pages) != 1) os_pages = 0;
  if (file != nullptr) std::fclose(file);
  return os_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// The address space has so much room left, until `lifted` is in force again.
void tighten(std::size_t room) {
  ASSERT_EQ(getrlimit(RLIMIT_AS, &lifted), 0);
  rlimit tight = lifted;
  tight.rlim_cur = address_space_in_use() + room;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
}

TEST_F(NewHandler, that_makes_room_is_rewarded) {
  constexpr std::size_t kSize = 2048 * sizes::kMiB;
  std::set_new_handler(lift_the_limit);
  ASSERT_NO_FATAL_FAILURE(tighten(256 * sizes::kMiB));
  void* block = nullptr;
  try {
    block = ::operator new(kSize);
  } catch (const std::bad_alloc&) {
  }
  setrlimit(RLIMIT_AS, &lifted);
  EXPECT_EQ(calls, 2);
  ASSERT_NE(block, nullptr) << "the handler made room, but operator new did not try again";
  pattern::fill(block, 1000, 1);
  ::operator delete(block);
}

// Blocks of one size, each linked through its first word: nothing else may allocate while memory is short.
struct Chain {
  std::size_t size;
  void* newest = nullptr;

  void add(void* block) {
    *static_cast<void**>(block) = newest;
    newest = block;
  }
  // Until no more come.
  void exhaust() {
    while (void* block = ::operator new(size, std::nothrow)) add(block);
  }
  void release() {
    while (newest != nullptr) {
      void* block = newest;
      newest = *static_cast<void**>(block);
      ::operator delete(block, size);
    }
  }
};

TEST_F(NewHandler, is_called_for_small_blocks_too) {
  for (const std::size_t size : {std::size_t{100}, std::size_t{60000}, std::size_t{200000}}) {
    Chain chain{size};
    calls = 0;
    ASSERT_NO_FATAL_FAILURE(tighten(64 * sizes::kMiB));
    chain.exhaust();
    bool threw = false;
    bool passed_through = false;
    void* block = nullptr;
    try {
      chain.add(::operator new(size));
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    std::set_new_handler(throw_own_exception);
    try {
      chain.add(::operator new(size));
    } catch (const HandlerGaveUp&) {
      passed_through = true;
    }
    const int calls_before_room = calls;
    calls = 0;
    std::set_new_handler(lift_the_limit);
    try {
      block = ::operator new(size);
    } catch (const std::bad_alloc&) {
    }
    setrlimit(RLIMIT_AS, &lifted);
    std::set_new_handler(nullptr);
    EXPECT_TRUE(threw) << size;
    EXPECT_TRUE(passed_through) << size;
    EXPECT_EQ(calls_before_room, 1) << size;
    EXPECT_EQ(calls, 2) << size;
    ASSERT_NE(block, nullptr) << size;
    chain.add(block);
    chain.release();
  }
}

}  // namespace
