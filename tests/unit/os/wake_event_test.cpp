// The states of a wake event, and that no notification is missed.
#include "os/wake_event.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/lock.h"

namespace snug {
namespace {

// Where a background thread is wanted.
void come(WakeEvent& wake_event) {
  ASSERT_TRUE(wake_event.claim());
  wake_event.arrive();
  ASSERT_TRUE(wake_event.is_awake());
}

TEST(WakeEvent, IsClaimedOnce) {
  WakeEvent wake_event;
  EXPECT_FALSE(wake_event.is_wanted() || wake_event.claim() || wake_event.is_attended());
  wake_event.summon();
  EXPECT_TRUE(wake_event.is_wanted());
  EXPECT_FALSE(wake_event.is_attended());
  EXPECT_TRUE(wake_event.claim());
  EXPECT_TRUE(wake_event.is_attended());
  EXPECT_FALSE(wake_event.is_wanted() || wake_event.claim());
  EXPECT_FALSE(wake_event.is_awake() || wake_event.announce()) << "on his way";
  wake_event.decline();
  EXPECT_TRUE(wake_event.is_wanted());
  wake_event.clear();
  wake_event.notify();
  EXPECT_TRUE(wake_event.claim()) << "a ring summons too";
}

TEST(WakeEvent, TellsWhoWaitsOfRingsOnly) {
  WakeEvent wake_event;
  wake_event.notify();
  come(wake_event);
  ASSERT_TRUE(wake_event.announce());
  EXPECT_FALSE(wake_event.announce()) << "waiting already";
  wake_event.summon();
  EXPECT_FALSE(wake_event.announce()) << "a summons wakes nobody";
  wake_event.notify();
  wake_event.wait();  // returns at once
  EXPECT_TRUE(wake_event.announce());
  wake_event.withdraw();
  wake_event.doze(1);
  ASSERT_TRUE(wake_event.announce());
  wake_event.wait(1);
  EXPECT_TRUE(wake_event.announce()) << "awake when the time is up";
}

TEST(WakeEvent, WhoHasLeftComesBackOnlyIfInvited) {
  WakeEvent wake_event;
  wake_event.invite();
  come(wake_event);
  wake_event.invite();
  EXPECT_FALSE(wake_event.is_wanted()) << "somebody is here";
  EXPECT_TRUE(wake_event.leave());
  EXPECT_FALSE(wake_event.is_attended());
  wake_event.notify();
  wake_event.summon();
  wake_event.remind();
  EXPECT_FALSE(wake_event.is_wanted() || wake_event.claim());
  wake_event.invite();
  come(wake_event);
  EXPECT_TRUE(wake_event.announce());
  EXPECT_FALSE(wake_event.leave()) << "a thread that sleeps does not leave";
  wake_event.withdraw();
  wake_event.dismiss();
  EXPECT_FALSE(wake_event.leave());
  wake_event.invite();
  EXPECT_FALSE(wake_event.is_wanted());
  wake_event.clear_until_invited();
  wake_event.notify();
  EXPECT_FALSE(wake_event.is_wanted());
  wake_event.invite();
  EXPECT_TRUE(wake_event.is_wanted());
}

TEST(WakeEvent, SendsAwayWhoeverIsHereOnce) {
  WakeEvent wake_event;
  bool was_wanted = true;
  EXPECT_FALSE(wake_event.send_away(&was_wanted)) << "nobody was ever called";
  for (const bool waits : {false, true}) {
    wake_event.invite();
    come(wake_event);
    EXPECT_EQ(waits && wake_event.announce(), waits);
    std::thread waiter([&] { waits ? wake_event.wait() : wake_event.doze(60000); });
    EXPECT_TRUE(wake_event.send_away(&was_wanted));
    EXPECT_FALSE(was_wanted);
    waiter.join();
    EXPECT_FALSE(wake_event.send_away(&was_wanted)) << "by another already";
    EXPECT_FALSE(wake_event.is_awake() || wake_event.announce() || wake_event.leave());
    wake_event.invite();
    EXPECT_FALSE(wake_event.is_wanted()) << "he has not gone yet";
    wake_event.gone();
  }
  wake_event.dismiss();
  EXPECT_FALSE(wake_event.send_away(&was_wanted));
}

TEST(WakeEvent, NobodyComesWhileOneWhoHasLeftIsSentAway) {
  WakeEvent wake_event;
  for (const bool is_invited : {false, true}) {
    wake_event.invite();
    come(wake_event);
    EXPECT_TRUE(wake_event.leave());
    if (is_invited) wake_event.invite();
    bool was_wanted = !is_invited;
    EXPECT_TRUE(wake_event.send_away(&was_wanted)) << "what is left of him";
    EXPECT_EQ(was_wanted, is_invited);
    wake_event.invite();
    EXPECT_FALSE(wake_event.is_wanted() || wake_event.claim());
    wake_event.gone();
    EXPECT_FALSE(wake_event.is_wanted() || wake_event.is_attended());
  }
}

// The thread that starts him may be the one that would wait, in a signal handler.
TEST(WakeEvent, WhoeverIsOnHisWayIsNotSentAway) {
  WakeEvent wake_event;
  wake_event.await_arrival();  // returns at once
  bool was_wanted = false;
  wake_event.invite();
  ASSERT_TRUE(wake_event.claim());
  EXPECT_FALSE(wake_event.send_away(&was_wanted));
  wake_event.decline();
  EXPECT_TRUE(wake_event.is_wanted());
  ASSERT_TRUE(wake_event.claim());
  std::thread waiter([&] { wake_event.await_arrival(); });
  wake_event.arrive();
  waiter.join();
}

TEST(WakeEvent, DismissesForGood) {
  WakeEvent wake_event;
  wake_event.notify();
  come(wake_event);
  ASSERT_TRUE(wake_event.announce());
  std::thread waiter([&] { wake_event.wait(); });
  wake_event.dismiss();
  waiter.join();
  wake_event.notify();
  wake_event.summon();
  wake_event.decline();
  EXPECT_FALSE(wake_event.announce() || wake_event.is_wanted() || wake_event.claim());
}

TEST(WakeEvent, MissesNoRing) {
  constexpr int kRings = 20000;
  WakeEvent wake_event;
  Lock lock;
  int work = 0;
  int done = 0;
  wake_event.notify();
  come(wake_event);
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
      wake_event.announce();
      if (has_work())
        wake_event.withdraw();
      else
        wake_event.wait();
    }
  });
  for (int i = 0; i < kRings; ++i) {
    LockGuard guard(lock);
    ++work;
    wake_event.notify();
  }
  waiter.join();
  EXPECT_EQ(done, kRings);
}

}  // namespace
}  // namespace snug
