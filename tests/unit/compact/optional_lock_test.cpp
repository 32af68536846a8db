// Which lock a thread takes to change a block that moves while the thread looks for it. A script says what happens
// between two looks, so that the test chooses each order of steps.
#include "compact/optional_lock.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace snug {
namespace {

// A lock that nobody waits for.
struct OwnLock {
  bool is_held = false;

  void lock() {
    EXPECT_FALSE(is_held);
    is_held = true;
  }
  void unlock() {
    EXPECT_TRUE(is_held);
    is_held = false;
  }
};

class LockPlaceTest : public testing::Test {
 protected:
  // The block is of the first class. Free pages are under the lock of large blocks, as in CompactFit.
  enum Tag { kFirst, kOther, kLarge };

  void move_to(size_t page, Tag left_to) {
    EXPECT_FALSE(hands.is_held) << "the page that is left would change hands";
    tags[block_in] = left_to;
    block_in = page;
    tags[page] = kFirst;
  }
  // script[n] comes between the n-th look at the handle and the look for the page's lock.
  size_t take(std::vector<std::function<void()>> script) {
    size_t looks = 0;
    const auto find = [&] { return block_in; };
    const auto lock_of = [&](size_t page) -> OwnLock& {
      if (looks < script.size()) script[looks]();
      ++looks;
      return turns[tags[page]];
    };
    const auto [lock, page] = lock_place_of(find, lock_of, turns[kLarge], hands);
    EXPECT_EQ(lock, &turns[kFirst]);
    EXPECT_TRUE(turns[kFirst].is_held);
    EXPECT_FALSE(turns[kOther].is_held || turns[kLarge].is_held || hands.is_held);
    return page;
  }

  OwnLock turns[3];
  OwnLock hands;
  Tag tags[4] = {kFirst, kLarge, kLarge, kLarge};
  size_t block_in = 0;
};

TEST_F(LockPlaceTest, IsThatOfABlockAtRest) { EXPECT_EQ(take({}), 0u); }

TEST_F(LockPlaceTest, IsNotThatOfTheClassThatHasGotThePage) {
  EXPECT_EQ(take({[&] { move_to(1, kOther); }}), 1u);
}

TEST_F(LockPlaceTest, IsThatOfTheClassWhereverTheBlockHasGone) {
  EXPECT_EQ(take({[&] { move_to(1, kFirst); }}), 1u) << "its old page is still of the class";
}

// The lock of large blocks does not keep a page from being given back, taken again and filled: the lock of hands does.
TEST_F(LockPlaceTest, IsNotThatOfAPageThatIsGoneAgain) {
  EXPECT_EQ(take({[&] { move_to(1, kLarge); }, [&] { EXPECT_TRUE(hands.is_held); }, [&] { move_to(2, kLarge); },
                  [&] { EXPECT_TRUE(hands.is_held); }}),
            2u);
}

TEST_F(LockPlaceTest, IsAskedInTheTurnOfHandsOnlyWhereNobodyMayHaveThePage) {
  EXPECT_EQ(take({[&] { move_to(1, kOther); }, [&] { EXPECT_FALSE(hands.is_held); }, [] {},
                  [&] { EXPECT_FALSE(hands.is_held); }}),
            1u);
}

TEST_F(LockPlaceTest, IsAskedForAsOftenAsThePageGoes) {
  EXPECT_EQ(take({[&] { move_to(1, kOther); }, [] {}, [&] { move_to(2, kOther); }, [] {}, [&] { move_to(3, kLarge); }}),
            3u);
}

}  // namespace
}  // namespace snug
