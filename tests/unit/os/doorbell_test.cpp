// The states of a doorbell, and that no ring is missed.
#include "os/doorbell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/lock.h"

namespace snug {
namespace {

// Where somebody is wanted.
void come(Doorbell& bell) {
  ASSERT_TRUE(bell.claim());
  bell.arrive();
  ASSERT_TRUE(bell.is_awake());
}

TEST(Doorbell, IsClaimedOnce) {
  Doorbell bell;
  EXPECT_FALSE(bell.is_wanted() || bell.claim() || bell.is_attended());
  bell.summon();
  EXPECT_TRUE(bell.is_wanted());
  EXPECT_FALSE(bell.is_attended());
  EXPECT_TRUE(bell.claim());
  EXPECT_TRUE(bell.is_attended());
  EXPECT_FALSE(bell.is_wanted() || bell.claim());
  EXPECT_FALSE(bell.is_awake() || bell.announce()) << "on his way";
  bell.decline();
  EXPECT_TRUE(bell.is_wanted());
  bell.clear();
  bell.ring();
  EXPECT_TRUE(bell.claim()) << "a ring summons too";
}

TEST(Doorbell, TellsWhoWaitsOfRingsOnly) {
  Doorbell bell;
  bell.ring();
  come(bell);
  ASSERT_TRUE(bell.announce());
  EXPECT_FALSE(bell.announce()) << "waiting already";
  bell.summon();
  EXPECT_FALSE(bell.announce()) << "a summons wakes nobody";
  bell.ring();
  bell.wait();  // returns at once
  EXPECT_TRUE(bell.announce());
  bell.withdraw();
  bell.doze(1);
  ASSERT_TRUE(bell.announce());
  bell.wait(1);
  EXPECT_TRUE(bell.announce()) << "awake when the time is up";
}

TEST(Doorbell, WhoHasLeftComesBackOnlyIfInvited) {
  Doorbell bell;
  bell.invite();
  come(bell);
  bell.invite();
  EXPECT_FALSE(bell.is_wanted()) << "somebody is here";
  EXPECT_TRUE(bell.leave());
  EXPECT_FALSE(bell.is_attended());
  bell.ring();
  bell.summon();
  bell.remind();
  EXPECT_FALSE(bell.is_wanted() || bell.claim());
  bell.invite();
  come(bell);
  EXPECT_TRUE(bell.announce());
  EXPECT_FALSE(bell.leave()) << "only who is awake";
  bell.withdraw();
  bell.dismiss();
  EXPECT_FALSE(bell.leave());
  bell.invite();
  EXPECT_FALSE(bell.is_wanted());
  bell.clear_until_invited();
  bell.ring();
  EXPECT_FALSE(bell.is_wanted());
  bell.invite();
  EXPECT_TRUE(bell.is_wanted());
}

TEST(Doorbell, SendsAwayWhoeverIsHereOnce) {
  Doorbell bell;
  EXPECT_FALSE(bell.send_away()) << "nobody was ever called";
  for (const bool waits : {false, true}) {
    bell.invite();
    come(bell);
    EXPECT_EQ(waits && bell.announce(), waits);
    std::thread waiter([&] { waits ? bell.wait() : bell.doze(60000); });
    EXPECT_TRUE(bell.send_away());
    waiter.join();
    EXPECT_FALSE(bell.send_away()) << "by another already";
    EXPECT_FALSE(bell.is_awake() || bell.announce() || bell.leave());
    bell.invite();
    EXPECT_FALSE(bell.is_wanted()) << "he has not gone yet";
    bell.gone();
  }
  bell.dismiss();
  EXPECT_FALSE(bell.send_away());
}

TEST(Doorbell, NobodyComesWhileOneWhoHasLeftIsSentAway) {
  Doorbell bell;
  for (const bool is_invited : {false, true}) {
    bell.invite();
    come(bell);
    EXPECT_TRUE(bell.leave());
    if (is_invited) bell.invite();
    EXPECT_TRUE(bell.send_away()) << "what is left of him";
    bell.invite();
    EXPECT_FALSE(bell.is_wanted() || bell.claim());
    bell.gone();
    EXPECT_FALSE(bell.is_wanted() || bell.is_attended());
  }
}

TEST(Doorbell, WhoeverIsOnHisWayIsAwaited) {
  Doorbell bell;
  bell.await_arrival();  // returns at once
  for (const bool comes : {false, true}) {
    bell.invite();
    ASSERT_TRUE(bell.claim());
    std::thread waiter([&] { bell.await_arrival(); });
    std::thread sender([&] { EXPECT_TRUE(bell.send_away()); });
    comes ? bell.arrive() : bell.decline();
    waiter.join();
    sender.join();
    bell.gone();
  }
}

TEST(Doorbell, DismissesForGood) {
  Doorbell bell;
  bell.ring();
  come(bell);
  ASSERT_TRUE(bell.announce());
  std::thread waiter([&] { bell.wait(); });
  bell.dismiss();
  waiter.join();
  bell.ring();
  bell.summon();
  bell.decline();
  EXPECT_FALSE(bell.announce() || bell.is_wanted() || bell.claim());
}

TEST(Doorbell, MissesNoRing) {
  constexpr int kRings = 20000;
  Doorbell bell;
  Lock lock;
  int work = 0;
  int done = 0;
  bell.ring();
  come(bell);
  std::thread waiter([&] {
    const auto finished = [&] {
      LockGuard guard(lock);
      done += work;
      work = 0;
      return done == kRings;
    };
    const auto has_work = [&] {
      LockGuard guard(lock);
      return work != 0;
    };
    while (!finished()) {
      bell.announce();
      if (has_work())
        bell.withdraw();
      else
        bell.wait();
    }
  });
  for (int i = 0; i < kRings; ++i) {
    LockGuard guard(lock);
    ++work;
    bell.ring();
  }
  waiter.join();
  EXPECT_EQ(done, kRings);
}

}  // namespace
}  // namespace snug
