// Nothing is lost while threads allocate, free, read, write and compact at once.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include "base/compiler.h"
#include "compact_heap_fixture.h"

namespace snug {
namespace {

void move_bytes(void* from, void* to) { std::memcpy(to, from, 256); }

// Each thread has blocks of its own, which it verifies whenever it has entered, and some that all share, where it adds
// to a count. One more thread compacts.
class Crowd {
 public:
  static constexpr size_t kShared = 200;

  Crowd(snug_compact_heap* heap, size_t threads, size_t operations)
      : heap_(heap), threads_(threads), operations_(operations) {
    for (size_t i = 0; i < kShared; ++i) {
      shared_[i] =
          i % 4 == 0 ? snug_compact_alloc_relocated(heap_, 256, 0, move_bytes) : snug_compact_alloc(heap_, 256, 0);
      std::memset(snug_compact_deref(heap_, shared_[i]), 0, 256);
    }
  }
  void run() {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < threads_; ++i) threads.emplace_back([this, i] { work(i); });
    std::thread compactor([this] { compact(); });
    for (std::thread& thread : threads) thread.join();
    done_ = true;
    compactor.join();
    uint64_t counted = 0;
    for (const snug_handle handle : shared_) {
      counted += counter(snug_compact_deref(heap_, handle)).load();
      snug_compact_free(heap_, handle);
    }
    EXPECT_EQ(counted, added_);
  }

 private:
  struct Own {
    snug_handle handle;
    size_t bytes;
    unsigned char content;
  };

  static std::atomic<uint64_t>& counter(void* block) { return *static_cast<std::atomic<uint64_t>*>(block); }

  void work(size_t number) {
    std::minstd_rand random(static_cast<unsigned>(number + 1));
    SectionReader reader(heap_);
    std::vector<Own> own;
    for (size_t i = 0; i < operations_; ++i) {
      if (own.size() < 50 || (own.size() < 800 && random() % 2 == 0)) {
        own.push_back({0, 1 + random() % (random() % 50 == 0 ? 40000 : 400), static_cast<unsigned char>(random())});
        own.back().handle = snug_compact_alloc(heap_, own.back().bytes, 0);
        ASSERT_NE(own.back().handle, 0u);
        reader.enter();
        std::memset(snug_compact_deref(heap_, own.back().handle), own.back().content, own.back().bytes);
        reader.leave();
        continue;
      }
      std::swap(own[random() % own.size()], own.back());
      if (random() % 8 == 0) resize(own.back(), random);
      reader.enter();
      expect_content(own.back());
      add_to_shared(random() % kShared);
      // Inside of the section, or outside.
      const bool inside = random() % 4 == 0;
      if (!inside) reader.leave();
      snug_compact_free(heap_, own.back().handle);
      if (inside) reader.leave();
      own.pop_back();
      if (random() % 16 == 0 && !own.empty()) pin(own.back());
    }
    for (const Own& block : own) snug_compact_free(heap_, block.handle);
  }
  void expect_content(const Own& own) {
    const auto* const content = static_cast<unsigned char*>(snug_compact_deref(heap_, own.handle));
    for (size_t i = 0; i < own.bytes; i += 1 + own.bytes / 40) ASSERT_EQ(content[i], own.content);
  }
  void add_to_shared(size_t index) {
    counter(snug_compact_deref(heap_, shared_[index])).fetch_add(1, std::memory_order_relaxed);
    added_.fetch_add(1, std::memory_order_relaxed);
  }
  void resize(Own& own, std::minstd_rand& random) {
    const size_t bytes = 1 + random() % 3000;
    ASSERT_EQ(snug_compact_resize(heap_, own.handle, bytes, 0), 0);
    own.bytes = std::min(own.bytes, bytes);
  }
  void pin(const Own& own) {
    const auto* const content = static_cast<unsigned char*>(snug_compact_pin(heap_, own.handle));
    ASSERT_EQ(content[own.bytes - 1], own.content);
    snug_compact_unpin(heap_, own.handle);
  }
  void compact() {
    while (!done_) {
      const snug_compact_budget budget{0, 10000};
      snug_compact_step(heap_, &budget);
      expect_whole_pages();
      if (const char* broken = snug_compact_check(heap_); broken != nullptr) {
        ADD_FAILURE() << broken;
        return;
      }
      std::this_thread::yield();
    }
  }
  // What is said of a class is of one moment, or of one of each core's heap.
  void expect_whole_pages() {
    snug_compact_stats stats;
    snug_compact_get_stats_of(heap_, 256, &stats);
    EXPECT_EQ(stats.bytes_blocks + stats.bytes_not_full + stats.bytes_tails, stats.pages << 14);
  }

  snug_compact_heap* heap_;
  const size_t threads_;
  const size_t operations_;  // of each
  snug_handle shared_[kShared] = {};
  std::atomic<uint64_t> added_{0};
  std::atomic<bool> done_{false};
};

class SharedCrowdTest : public testing::TestWithParam<snug_compact_sharing> {};

// SNUG_SOAK_OPERATIONS=100000000: so many, by eight threads.
TEST_P(SharedCrowdTest, NothingIsLostInACrowd) {
  const char* const soak = std::getenv("SNUG_SOAK_OPERATIONS");
  const size_t threads = soak != nullptr ? 8 : 4;
  const size_t operations = (soak != nullptr ? std::strtoull(soak, nullptr, 10) : kSanitized ? 20000 : 80000) / threads;
  for (const size_t increment : {size_t{4096}, size_t{64}}) {
    CompactHeapFixture heap({.increment = increment, .sharing = GetParam()});
    Crowd(heap, threads, operations).run();
    snug_compact_step(heap, nullptr);
    const snug_compact_stats stats = heap.stats();
    EXPECT_EQ(stats.blocks, 0u);
    EXPECT_EQ(stats.pages, 0u);
    EXPECT_GT(stats.moves, 0u);
    EXPECT_EQ(stats.pins, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharedCrowdTest, shared_heaps(), name_of_sharing);

}  // namespace
}  // namespace snug
