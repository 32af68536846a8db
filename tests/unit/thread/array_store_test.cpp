// Arrays by size, and their reuse.
#include "thread/array_store.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/bits.h"
#include "base/shared_holds.h"

namespace snug {
namespace {

void give(ArrayStore& store, void** array, size_t places) { ArrayStore::Returns(store).add(array, places); }

TEST(ArrayStore, ReusesEachSizeApart) {
  MetaArena arena;
  ArrayStore store(arena);
  std::vector<void**> taken;
  for (size_t places = ArrayStore::kLeastPlaces; places <= ArrayStore::kMostPlaces; places *= 2) {
    void** array = store.take(places);
    ASSERT_NE(array, nullptr);
    for (size_t i = 0; i < places; ++i) array[i] = array;
    taken.push_back(array);
  }
  EXPECT_EQ(taken.size(), 7u);
  const size_t used = arena.bytes_used();
  for (size_t i = 0; i < taken.size(); ++i) give(store, taken[i], ArrayStore::kLeastPlaces << i);
  for (size_t i = taken.size(); i-- != 0;) EXPECT_EQ(store.take(ArrayStore::kLeastPlaces << i), taken[i]);
  for (void** array : taken)
    EXPECT_EQ(array[-1], nullptr) << "a free of an array's neighbour may look like a second one";
  EXPECT_EQ(arena.bytes_used(), used);
  EXPECT_NE(store.take(16), taken[0]);
}

TEST(ArrayStore, TheLastGivenIsTheFirstTaken) {
  MetaArena arena;
  ArrayStore store(arena);
  void** a = store.take(64);
  void** b = store.take(64);
  give(store, a, 64);
  give(store, b, 64);
  EXPECT_EQ(store.take(64), b);
  EXPECT_EQ(store.take(64), a);
}

TEST(ArrayStore, AnArrayIsExchangedWithWhatItHolds) {
  MetaArena arena;
  ArrayStore store(arena);
  for (const bool other_is_there : {false, true}) {
    if (other_is_there) give(store, store.take(32), 32);
    void** small = store.take(16);
    for (size_t i = 0; i < 16; ++i) small[i] = small + i;
    void** large = store.exchange(small, 16, 16, 32);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(large[-1], nullptr);
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(large[i], small + i);
    EXPECT_EQ(store.take(16), small) << "the old one is free";
  }
}

TEST(ArrayStore, ReturnsGoHomeTogether) {
  MetaArena arena;
  ArrayStore store(arena);
  void** waiting = store.take(16);
  void** a = store.take(16);
  void** b = store.take(16);
  void** c = store.take(1024);
  give(store, waiting, 16);
  const uint64_t taken = SharedHolds::taken();
  {
    ArrayStore::Returns returns(store);
    returns.add(a, 16);
    returns.add(b, 16);
    returns.add(c, 1024);
  }
  EXPECT_LE(SharedHolds::taken() - taken, 1u);
  EXPECT_EQ(store.take(1024), c);
  EXPECT_EQ(store.take(16), b);
  EXPECT_EQ(store.take(16), a);
  EXPECT_EQ(store.take(16), waiting);
}

TEST(ArrayStore, ServesThreadsAtOnce) {
  MetaArena arena;
  ArrayStore store(arena);
  std::vector<std::thread> threads;
  for (int self = 0; self < 4; ++self)
    threads.emplace_back([&store] {
      for (int i = 0; i < 5000; ++i) {
        const size_t places = size_t{16} << i % 7;
        void** array = store.take(places);
        array[0] = array[places - 1] = &array;
        if (array[0] != &array || array[places - 1] != &array) ADD_FAILURE() << "two owners";
        give(store, array, places);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(arena.bytes_used(), size_t{4} * 2 * 1152 * sizeof(void*)) << "arrays are reused";
}

}  // namespace
}  // namespace snug
