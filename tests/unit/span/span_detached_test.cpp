// What a thread has detached for a system call: others go on without it, find it afterwards, and wait for it only if
// there is nothing else.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>
#include <utility>

#include "os/system_call_hook.h"
#include "span/own_spans.h"
#include "waiting.h"

namespace snug {
namespace {

using unit::SystemCallHook;

constexpr PageCount kWhole{kPagesPerChunk};

class SpanInHandTest : public testing::Test {
 protected:
  SpanInHandTest() {
    first = own.spans.allocate({10});
    second = own.spans.allocate({10});
    rest = own.spans.allocate({kPagesPerChunk - 20});
  }
  void TearDown() override { expect_sound(); }
  void expect_sound() { EXPECT_STREQ(own.spans.check(), nullptr); }
  SpanStatistics statistics() { return own.spans.statistics(); }
  // Another thread that asks for the first ten pages, and has each chunk refused: it is to get what is detached.
  template <class Refusal>
  std::thread ask_while_refused(Refusal refusal) {
    return std::thread([this, refusal] {
      const SystemCallHook refuses(SYS_mprotect, [&] {
        refusal();
        return false;
      });
      Span* span = own.spans.allocate({10});
      ASSERT_NE(span, nullptr);
      EXPECT_EQ(span->first.in_chunk(), 0u);
    });
  }

  unit::OwnSpans own;
  Span* first;
  Span* second;
  Span* rest;
};

TEST_F(SpanInHandTest, OthersAreServedWhileItIsPurged) {
  own.free_touched(first);
  {
    const SystemCallHook meanwhile(SYS_madvise, [this] {
      expect_sound();
      EXPECT_EQ(statistics().bytes_free, PageCount{10}.bytes()) << "what is detached counts";
      EXPECT_EQ(statistics().bytes_dirty, PageCount{10}.bytes());
      own.spans.free(own.spans.allocate({20}), {0});
      return true;
    });
    EXPECT_TRUE(own.spans.trim(0));
  }
  EXPECT_EQ(statistics().bytes_dirty, 0u);
  EXPECT_EQ(own.spans.allocate({10})->first, own.page_map.page_of(own.start_of(second)) - PageCount{10});
}

TEST_F(SpanInHandTest, ItJoinsWhatHasBeenFreedBesideIt) {
  own.free_touched(first);
  {
    const SystemCallHook meanwhile(SYS_madvise, [this] {
      if (second != nullptr) own.spans.free(std::exchange(second, nullptr), {0});
      return true;
    });
    own.spans.trim(0);
  }
  expect_sound();
  EXPECT_EQ(own.spans.allocate({20})->first.in_chunk(), 0u);
}

TEST_F(SpanInHandTest, WhoFindsNothingElseWaits) {
  own.free_touched(first);
  support::Waiter waiter;
  std::thread other;
  {
    const SystemCallHook meanwhile(SYS_madvise, [&] {
      if (other.joinable()) return true;
      other = ask_while_refused([&] { waiter.announce(); });
      waiter.await_asleep();
      return true;
    });
    own.spans.trim(0);
    other.join();
  }
}

TEST_F(SpanInHandTest, WhatComesBackDuringARefusalIsFound) {
  own.free_touched(first);
  std::atomic<bool> refused{false};
  std::atomic<bool> is_back{false};
  std::thread other;
  {
    const SystemCallHook meanwhile(SYS_madvise, [&] {
      if (other.joinable()) return true;
      other = ask_while_refused([&] {
        refused = true;
        while (!is_back) std::this_thread::yield();
      });
      while (!refused) std::this_thread::yield();
      return true;
    });
    own.spans.trim(0);
    is_back = true;
    other.join();
  }
}

TEST_F(SpanInHandTest, WithNothingInHandARefusalIsOne) {
  const SystemCallHook refuses(SYS_mprotect, [] { return false; });
  EXPECT_EQ(own.spans.allocate({10}), nullptr);
}

// Two want a chunk at once: each adds one, and what is too much lies in the bins.
TEST_F(SpanInHandTest, AChunkIsAddedWhileAnotherComes) {
  Span* other = nullptr;
  {
    const SystemCallHook meanwhile(SYS_mprotect, [&] {
      if (other == nullptr) other = own.spans.allocate({3});
      return true;
    });
    ASSERT_NE(own.spans.allocate({4}), nullptr);
  }
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(statistics().chunks, 3u);
  EXPECT_EQ(statistics().bytes_free, 2 * kChunkSize - PageCount{7}.bytes());
}

TEST_F(SpanInHandTest, AddressesAreReservedByOneWhileOthersWait) {
  const size_t before = own.page_map.bytes_reserved();
  std::thread other;
  std::atomic<bool> served{false};
  support::Waiter waiter;
  bool reserving = false;
  {
    const SystemCallHook meanwhile(SYS_mmap, [&] {
      if (std::exchange(reserving, true)) return true;
      other = std::thread([&] {
        waiter.announce();
        EXPECT_NE(own.spans.allocate(kWhole), nullptr);
        served = true;
      });
      waiter.await_asleep();
      EXPECT_FALSE(served.load());
      return true;
    });
    while (!reserving) ASSERT_NE(own.spans.allocate(kWhole), nullptr);
  }
  other.join();
  EXPECT_LE(own.page_map.bytes_reserved(), before + (size_t{128} << 20) + kChunkSize);
}

TEST_F(SpanInHandTest, AForkWaitsForIt) {
  own.free_touched(first);
  std::atomic<bool> at_rest{false};
  support::Waiter waiter;
  std::thread forks;
  {
    const SystemCallHook meanwhile(SYS_madvise, [&] {
      if (forks.joinable()) return true;
      forks = std::thread([&] {
        waiter.announce();
        Lock::begin_fork();
        own.spans.lock_at_rest();
        at_rest = true;
        own.spans.lock().unlock_after_fork();
        Lock::end_fork();
      });
      waiter.await_asleep();
      EXPECT_FALSE(at_rest.load());
      return true;
    });
    own.spans.trim(0);
  }
  forks.join();
  EXPECT_TRUE(at_rest.load());
}

}  // namespace
}  // namespace snug
