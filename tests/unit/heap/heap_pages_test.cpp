// The pages that a heap of one's own leaves: the thread that ended it has a few for the next, and all come home.
#include <gtest/gtest.h>
#include <snug/heap.h>
#include <snug/limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "heap/own_heap.h"

namespace snug::own_heap {
namespace {

class HeapPagesTest : public OwnHeapTest {
 protected:
  void SetUp() override { snug_malloc_trim(0); }

  static void serve_request() {
    snug_heap* const heap = heap_with("request");
    for (size_t i = 0; i < 400; ++i) ASSERT_NE(snug_heap_malloc(heap, 16 + i * 5), nullptr);
    ASSERT_EQ(snug_heap_destroy(heap), 0);
  }
  static uint64_t held() {
    snug_limits limits{};
    limits.size = sizeof limits;
    EXPECT_EQ(snug_get_limits(&limits), 0);
    return limits.held;
  }
  static size_t retained() { return process_stats().bytes_retained; }
};

TEST_F(HeapPagesTest, ATrimGivesBackWhatTheNextHeapWouldTake) {
  for (int i = 0; i < 3; ++i) serve_request();
  EXPECT_GT(retained(), 0u);
  EXPECT_EQ(snug_malloc_trim(0), 1);
  EXPECT_EQ(retained(), 0u);
  serve_request();
}

TEST_F(HeapPagesTest, WithNothingToRetainNoneIsKept) {
  ASSERT_EQ(snug_set("retain:0,retain_large:0"), 0);
  for (int i = 0; i < 3; ++i) serve_request();
  EXPECT_EQ(retained(), 0u);
  ASSERT_EQ(snug_set("retain:64M,retain_large:64M"), 0);
}

TEST_F(HeapPagesTest, AThreadThatIsIdleKeepsNone) {
  serve_request();
  const size_t before = retained();
  snug_thread_idle();
  EXPECT_EQ(retained(), before) << "they are the span store's now, and free as before";
  snug_malloc_trim(0);
  serve_request();
}

TEST_F(HeapPagesTest, ThreadsThatEndLeaveNoneOfTheirOwn) {
  const uint64_t before = held();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([] {
        for (int request = 0; request < 5; ++request) serve_request();
      });
    for (std::thread& thread : threads) thread.join();
  }
  snug_malloc_trim(0);
  EXPECT_EQ(retained(), 0u);
  EXPECT_LE(held(), before + 4 * kMiB) << "and not lost";
}

TEST_F(HeapPagesTest, OfAThreadThatSleepsATrimGivesThemBack) {
  std::atomic<bool> has_served{false};
  std::atomic<bool> may_go{false};
  std::thread sleeper([&] {
    serve_request();
    has_served = true;
    has_served.notify_one();
    may_go.wait(false);
    serve_request();
  });
  has_served.wait(false);
  snug_malloc_trim(0);
  EXPECT_EQ(retained(), 0u);
  may_go = true;
  may_go.notify_one();
  sleeper.join();
}

// Sleepers' pages are among those that a child gives back.
TEST_F(HeapPagesTest, AChildOfAForkHasThemAsItsOwn) {
  std::atomic<int> served{0};
  std::atomic<bool> may_go{false};
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 4; ++i)
    sleepers.emplace_back([&] {
      serve_request();
      ++served;
      may_go.wait(false);
    });
  while (served != 4) std::this_thread::yield();
  serve_request();
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      serve_request();
      snug_malloc_trim(0);
      const bool is_well = snug_check(1) == nullptr && retained() == 0;
      serve_request();
      _exit(is_well && !HasFailure() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    serve_request();
  }
  may_go = true;
  may_go.notify_all();
  for (std::thread& sleeper : sleepers) sleeper.join();
}

}  // namespace
}  // namespace snug::own_heap
