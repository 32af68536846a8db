// A random program on a mapping store: contents, lengths and counts are compared after each step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/atomic.h"
#include "base/bits.h"
#include "span/mapping_store.h"
#include "span/own_spans.h"

namespace snug {
namespace {

constexpr size_t kOsPage = 4096;

class LargeProgram {
 public:
  explicit LargeProgram(uint64_t seed) : random_(seed) {
    unit::set_retention(large_.bounds(), {size_t{8} << 20, UINT32_MAX});
  }

  void step() {
    const uint64_t choice = random_() % 100;
    if (live_.empty() || (choice < 40 && live_.size() < 40))
      allocate();
    else if (choice < 70)
      free();
    else if (choice < 97)
      resize();
    else
      large_.trim(random_() % 4 << 20);
    compare();
  }
  void free_all() {
    while (!live_.empty()) free();
    compare();
    large_.trim(0);
    EXPECT_EQ(large_.statistics().bytes_mapped, 0u);
  }

 private:
  struct Live {
    char* start;
    size_t usable;
    uint64_t name;
  };

  size_t random_size() { return kOsPage * (16 + random_() % 240) + random_() % kOsPage; }

  // A word in each OS page.
  static void stamp(const Live& block, size_t from) {
    for (size_t at = from; at < block.usable; at += kOsPage) {
      const uint64_t word = block.name + at;
      std::memcpy(block.start + at, &word, sizeof word);
    }
  }
  static void expect_stamped(const Live& block, size_t until) {
    for (size_t at = 0; at < until; at += kOsPage) {
      const uint64_t word = block.name + at;
      ASSERT_EQ(std::memcmp(block.start + at, &word, sizeof word), 0) << "at " << at;
    }
  }

  void allocate() {
    const LargeRequest request{.size = random_size(),
                               .alignment = random_() % 4 == 0 ? kOsPage << random_() % 10 : 1,
                               .zeroed = random_() % 3 == 0,
                               .will_grow = random_() % 3 == 0};
    auto* start = static_cast<char*>(large_.allocate(request));
    ASSERT_NE(start, nullptr);
    ASSERT_TRUE(is_aligned(address_of(start), request.alignment));
    const Live block{start, round_up(request.size, kOsPage), random_()};
    ASSERT_EQ(large_.usable_size(start), block.usable);
    if (request.zeroed) {
      for (size_t at = 0; at < block.usable; at += 256) ASSERT_EQ(start[at], 0);
    }
    for (const Live& other : live_)
      ASSERT_TRUE(start + block.usable <= other.start || other.start + other.usable <= start) << "two owners";
    stamp(block, 0);
    live_.push_back(block);
  }

  void free() {
    const size_t index = random_() % live_.size();
    const Live block = live_[index];
    live_[index] = live_.back();
    live_.pop_back();
    expect_stamped(block, block.usable);
    ASSERT_EQ(large_.free(block.start + kOsPage), LargeFree::kInside);
    ASSERT_EQ(large_.free(block.start), LargeFree::kFreed);
    const LargeFree again = large_.free(block.start);
    ASSERT_TRUE(again == LargeFree::kAlreadyFree || again == LargeFree::kUnknown);
  }

  void resize() {
    Live& block = live_[random_() % live_.size()];
    const size_t size = random_size();
    const size_t was = block.usable;
    auto* start = static_cast<char*>(large_.resize(block.start, size));
    ASSERT_NE(start, nullptr);
    block.start = start;
    block.usable = large_.usable_size(start);
    ASSERT_GE(block.usable, size);
    const size_t needed = round_up(size, kOsPage);
    ASSERT_LE(block.usable, std::max(was, needed + most_unused(needed) / 2));
    expect_stamped(block, std::min(was, block.usable));
    stamp(block, was);
  }

  void compare() {
    ASSERT_STREQ(large_.check(), nullptr);
    size_t usable = 0;
    for (const Live& block : live_) usable += block.usable;
    const LargeStatistics now = large_.statistics();
    ASSERT_EQ(now.blocks, live_.size());
    ASSERT_EQ(now.bytes_usable, usable);
    ASSERT_GE(now.bytes_mapped, usable);
    ASSERT_LE(now.bytes_kept, size_t{8} << 20);
  }

  MetaArena arena_;
  Atomic<size_t> grown_{0};
  Footprint footprint_{arena_};
  MappingStore large_{arena_, grown_, footprint_};
  std::mt19937_64 random_;
  std::vector<Live> live_;
};

TEST(LargeProgram, KeepsContentsAndCounts) {
  for (uint64_t seed : {1u, 2u}) {
    LargeProgram program(seed);
    for (int step = 0; step < 3000; ++step) {
      program.step();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
    program.free_all();
  }
}

}  // namespace
}  // namespace snug
