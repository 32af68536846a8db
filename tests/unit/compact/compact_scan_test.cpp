// A map that is gone through while it changes: whatever comes and goes, each entry that stays is seen.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "snug/compact_heap.h"

namespace snug {
namespace {

using Map = CompactMap<unsigned, int>;

constexpr unsigned kStaying = 1000;  // numbers below stay

class CompactScanTest : public testing::Test {
 protected:
  CompactScanTest() {
    for (unsigned i = 0; i < kStaying; ++i) map.try_emplace(i, 0);
  }
  // How often each of those that stay was seen, where change(call) happens after each call.
  template <class Change>
  std::map<unsigned, int> scan(size_t buckets, Change change) {
    std::map<unsigned, int> seen;
    std::uint64_t cursor = 0;
    int call = 0;
    do {
      cursor = map.scan(cursor, buckets, [&](unsigned key, int) { ++seen[key]; });
      change(call++);
      EXPECT_LT(call, 100'000);
    } while (cursor != 0);
    seen.erase(seen.lower_bound(kStaying), seen.end());
    EXPECT_EQ(map.check(), nullptr);
    return seen;
  }
  static void expect_each_once(const std::map<unsigned, int>& seen) {
    EXPECT_EQ(seen.size(), kStaying);
    for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
  }
  void add(unsigned count) {
    for (; count != 0; --count) map.try_emplace(next++, 0);
  }
  void erase_others() {
    map.erase_if([](unsigned key, int) { return key >= kStaying; });
  }

  CompactHeap heap{{.increment = 64}};
  Map map{heap};
  unsigned next = kStaying;
};

TEST_F(CompactScanTest, SeesEachEntryOnce) {
  for (const size_t buckets : {size_t{1}, size_t{7}, size_t{1000}, size_t{1024}, SIZE_MAX})
    expect_each_once(scan(buckets, [](int) {}));
}

TEST_F(CompactScanTest, MayChangeValues) {
  std::uint64_t cursor = 0;
  do cursor = map.scan(cursor, 10, [](unsigned key, int& value) { value = static_cast<int>(key); });
  while (cursor != 0);
  for (unsigned i = 0; i < kStaying; ++i) EXPECT_EQ(*map.find(i), static_cast<int>(i));
}

TEST_F(CompactScanTest, AMapWithoutEntriesHasNone) {
  Map none(heap);
  EXPECT_EQ(none.scan(0, 10, [](unsigned, int) { FAIL(); }), 0u);
  EXPECT_EQ(none.scan(~std::uint64_t{0}, 10, [](unsigned, int) { FAIL(); }), 0u);
}

TEST_F(CompactScanTest, SeesEachOnceThoughTheBucketsDouble) {
  const size_t before = map.bucket_count();
  expect_each_once(scan(3, [this](int call) { add(call < 200 ? 20 : 0); }));
  EXPECT_GE(map.bucket_count(), 4 * before);
}

TEST_F(CompactScanTest, SeesEachThoughTheBucketsBecomeFewer) {
  add(20 * kStaying);
  const auto seen = scan(3, [this](int call) {
    if (call == 1000) erase_others(), map.shrink_to_fit();
  });
  EXPECT_EQ(map.bucket_count(), 1024u);
  EXPECT_EQ(seen.size(), kStaying);
}

TEST_F(CompactScanTest, SeesEachWhateverComesAndGoes) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::minstd_rand random(seed);
    const auto seen = scan(5, [&](int) {
      const unsigned choice = static_cast<unsigned>(random()) % 40;
      if (choice == 0) {
        erase_others();
        map.shrink_to_fit();
        heap.compact();
      } else if (choice == 1) {
        Map taken(std::move(map));
        taken.reserve(taken.size() * 8);
        map = std::move(taken);
      } else if (choice < 20) {
        add(static_cast<unsigned>(random()) % 500);
      } else {
        for (int i = 0; i < 100; ++i) map.erase(kStaying + static_cast<unsigned>(random()) % (next - kStaying + 1));
      }
    });
    EXPECT_EQ(seen.size(), kStaying);
  }
}

}  // namespace
}  // namespace snug
