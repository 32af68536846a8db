// How much of what is empty is kept, by what was missed and by what was in use of late.
#include "span/keeping.h"

#include <gtest/gtest.h>

#include "base/atomic.h"
#include "os/wake_event.h"

namespace snug {
namespace {

class KeepingTest : public testing::Test {
 protected:
  static constexpr uint32_t kAge = 1000;

  KeepingTest() {
    bound(1000, 0, 1000);
    bounds_.wake_event = &wake_event_;
  }
  void bound(size_t bytes, size_t in_use, size_t by_age) {
    bounds_.set(bytes, in_use, by_age, kAge);
    bounds_.least.store(10, kRelaxed);
  }
  // How much may be kept.
  size_t most(const Keeping::Use& use = {}, size_t spared = 0) const {
    size_t most = spared;
    while (!keeping_.is_too_much(most + 1, spared, use)) ++most;
    return most;
  }
  // The background thread has come.
  void answer() {
    wake_event_.invite();
    EXPECT_TRUE(wake_event_.claim());
    wake_event_.arrive();
  }

  WakeEvent wake_event_;
  KeptBounds bounds_;
  Keeping keeping_{bounds_};
};

TEST_F(KeepingTest, NothingIsKeptUntilTheBoundsAreSet) {
  const KeptBounds none;
  EXPECT_TRUE(Keeping(none).is_too_much(1, {100}));
}

TEST_F(KeepingTest, WhatWentForBeingTooMuchAndIsTakenAgainIsMissed) {
  keeping_.took(80, {});
  EXPECT_EQ(most(), 10u) << "nothing had gone back";
  keeping_.gave(80, {});
  EXPECT_EQ(most(), 10u);
  keeping_.took(30, {});
  EXPECT_EQ(most(), 40u);
  keeping_.took(200, {});
  EXPECT_EQ(most(), 90u) << "no more than went";
}

TEST_F(KeepingTest, NoMoreThanTheMostIsEverMissed) {
  bound(160, 0, 0);
  keeping_.gave(1000, {});
  keeping_.took(1000, {});
  EXPECT_EQ(most(), 160u);
  bound(40, 0, 0);
  EXPECT_EQ(most(), 40u);
  keeping_.gave(100, {});
  keeping_.took(100, {});
  bound(1000, 0, 0);
  EXPECT_EQ(most(), 160u) << "a smaller bound takes nothing back";
}

TEST_F(KeepingTest, WhatWentForItsAgeWasNotMissed) {
  keeping_.gave(80, {});
  keeping_.took(80, {});
  keeping_.aged(30);
  EXPECT_EQ(most(), 60u);
  keeping_.aged(1000);
  EXPECT_EQ(most(), 10u);
}

TEST_F(KeepingTest, WhatIsSparedCountsAgainstTheBoundAlone) {
  EXPECT_EQ(most({}, 500), 510u);
  EXPECT_EQ(most({}, 995), 1000u);
}

TEST_F(KeepingTest, AsMuchAsIsInUseIsKeptUpToTheBoundForThat) {
  bound(40, 160, 0);
  bounds_.least.store(SIZE_MAX, kRelaxed);
  EXPECT_EQ(most({20}), 40u);
  EXPECT_EQ(most({80}), 80u);
  EXPECT_EQ(most({200}), 160u);
}

TEST_F(KeepingTest, OfBoundsForAllAStoreHasWhatOthersLeaveOrItsEvenPart) {
  bound(400, 800, 0);
  bounds_.least.store(SIZE_MAX, kRelaxed);
  EXPECT_EQ(most({0, 4, 0}), 400u);
  EXPECT_EQ(most({0, 4, 250}), 150u);
  EXPECT_EQ(most({0, 4, 350}), 100u);
  EXPECT_EQ(most({700, 4, 350}), 450u);
  EXPECT_EQ(most({700, 4, 5000}), 200u);
  bounds_.least.store(10, kRelaxed);
  bounds_.by_age.store(800, kRelaxed);
  answer();
  keeping_.note_use(700, 0);
  EXPECT_EQ(most({0, 4, 250}), 550u);
}

TEST_F(KeepingTest, WhereNobodyIsTheBudgetDecides) {
  keeping_.note_use(500, 0);
  EXPECT_EQ(most({100}), 10u);
  wake_event_.invite();
  EXPECT_EQ(most({100}), 10u) << "a thread that is wanted is not here";
}

TEST_F(KeepingTest, WhatWasInUseMayStayBesideWhatIs) {
  answer();
  keeping_.note_use(500, 0);
  EXPECT_EQ(most({100}), 410u);
  EXPECT_EQ(most({500}), 10u);
  EXPECT_EQ(most({700}), 10u) << "a higher use than any that was noted";
  ASSERT_TRUE(wake_event_.announce());
  EXPECT_EQ(most({100}), 410u) << "a thread that waits will be woken";
  wake_event_.withdraw();
  ASSERT_TRUE(wake_event_.leave());
  EXPECT_EQ(most({100}), 10u) << "a thread that has left will not";
}

TEST_F(KeepingTest, NoMoreThanTheBoundButTheBudget) {
  answer();
  keeping_.note_use(5000, 0);
  EXPECT_EQ(most({100}), 1000u);
  bounds_.bytes.store(5000, kRelaxed);
  bounds_.least.store(2000, kRelaxed);
  EXPECT_EQ(most({100}), 2000u);
}

TEST_F(KeepingTest, ThePeakIsKnownForItsAgeAndAnother) {
  answer();
  for (const uint32_t start : {0u, 5u, kAge - 1}) {
    const uint32_t begin = 10 * kAge * (start + 1);
    keeping_.note_use(100, begin);
    keeping_.note_use(500, begin + start);
    keeping_.note_use(100, begin + kAge + start);
    EXPECT_EQ(most({100}), 410u) << "an age later, after " << start;
    keeping_.note_use(100, begin + 2 * kAge + start);
    EXPECT_EQ(most({100}), 10u) << "two ages later, after " << start;
  }
}

TEST_F(KeepingTest, ThePeakIsKnownForNoLongerHoweverSeldomSomethingIsNoted) {
  answer();
  keeping_.note_use(500, 0);
  keeping_.note_use(100, 2 * kAge - 1);
  EXPECT_EQ(most({100}), 410u);
  keeping_.note_use(100, 2 * kAge);
  EXPECT_EQ(most({100}), 10u);
}

TEST_F(KeepingTest, ThePeakIsForgottenWhereNothingWasFreedForLong) {
  answer();
  keeping_.note_use(500, 0);
  keeping_.note_use(100, 2 * kAge);
  EXPECT_EQ(most({100}), 10u);
}

TEST_F(KeepingTest, WithoutAnAgeTheBudgetDecides) {
  answer();
  bounds_.purge_after.store(0, kRelaxed);
  keeping_.note_use(500, 7);
  EXPECT_EQ(most({100}), 10u);
}

}  // namespace
}  // namespace snug
