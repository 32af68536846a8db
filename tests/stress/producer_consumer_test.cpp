// Blocks that are always freed by another thread than the one that made them.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "heap_quiet.h"
#include "stamped_block.h"
#include "stress_scale.h"

namespace snug::stress {
namespace {

using Batch = std::vector<Stamp*>;

// A bounded queue of batches; an empty batch tells a consumer to stop.
class Belt {
 public:
  void put(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batches_.size() < kDepth; });
    batches_.push_back(std::move(batch));
    changed_.notify_all();
  }

  Batch take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !batches_.empty(); });
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    changed_.notify_all();
    return batch;
  }

 private:
  static constexpr size_t kDepth = 16;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> batches_;
};

constexpr size_t kBatch = 128;

// Returns how many blocks could not be had.
uint64_t produce(Belt& belt, uint64_t owner, uint64_t batches) {
  SmallRandom random(owner + 7);
  uint64_t failed = 0;
  for (uint64_t b = 0; b < batches; ++b) {
    Batch batch;
    for (size_t i = 0; i < kBatch; ++i) {
      Stamp* const block = make_stamped(owner, b * kBatch + i, random.length());
      if (block == nullptr) {
        ++failed;
      } else {
        batch.push_back(block);
      }
    }
    belt.put(std::move(batch));
  }
  return failed;
}

// Returns how many blocks came damaged.
uint64_t consume(Belt& belt) {
  uint64_t damaged = 0;
  for (Batch batch = belt.take(); !batch.empty(); batch = belt.take()) {
    for (Stamp* block : batch) damaged += verify_and_free(block) ? 0 : 1;
  }
  return damaged;
}

void run(unsigned producers, unsigned consumers, uint64_t batches) {
  const snug_stats before = stats_now();
  Belt belt;
  std::atomic<uint64_t> bad{0};
  std::vector<std::thread> makers;
  std::vector<std::thread> takers;
  for (unsigned i = 0; i < producers; ++i) makers.emplace_back([&, i] { bad += produce(belt, i, batches); });
  for (unsigned i = 0; i < consumers; ++i) takers.emplace_back([&] { bad += consume(belt); });
  for (std::thread& maker : makers) maker.join();
  // The makers' heaps are abandoned while their blocks still come in.
  for (unsigned i = 0; i < consumers; ++i) belt.put({});
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(bad.load(), 0u);
  expect_quiet(before);
}

TEST(ProducerConsumer, FourToFour) { run(4, 4, scaled(3000)); }
TEST(ProducerConsumer, AllFreeWhatOneMade) { run(1, 7, scaled(8000)); }
TEST(ProducerConsumer, OneFreesWhatAllMade) { run(7, 1, scaled(1200)); }

// The memory of a steady flow is bounded by what is in flight, however much has passed.
TEST(ProducerConsumer, SteadyFlowDoesNotGrow) {
  Belt belt;
  std::atomic<uint64_t> bad{0};
  uint64_t early = 0;
  std::thread taker([&] { bad += consume(belt); });
  for (unsigned round = 0; round < 40; ++round) {
    bad += produce(belt, 1, scaled(200));
    const uint64_t reserved = stats_now().bytes_reserved;
    if (round < 5) early = std::max(early, reserved);
    EXPECT_LE(reserved, early * 3 / 2 + (16u << 20)) << "in round " << round;
  }
  belt.put({});
  taker.join();
  EXPECT_EQ(bad.load(), 0u);
}

}  // namespace
}  // namespace snug::stress
