// The lock: mutual exclusion, and which threads pass while it is held for a fork.
#include "base/lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/in_flight_gate.h"
#include "waiting.h"

namespace snug {
namespace {

TEST(Lock, IsFourBytesAndOpenWhenZero) {
  EXPECT_EQ(sizeof(Lock), 4u);
  alignas(Lock) unsigned char zeros[sizeof(Lock)] = {};
  auto* lock = reinterpret_cast<Lock*>(zeros);
  EXPECT_TRUE(lock->try_lock());
  EXPECT_FALSE(lock->try_lock());
  lock->unlock();
  EXPECT_TRUE(lock->try_lock());
}

TEST(Lock, ExcludesOthers) {
  constexpr int kThreads = 4, kRounds = 20000;
  Lock lock;
  long count = 0;  // neither atomic nor volatile: the lock alone protects it
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        LockGuard guard(lock);
        count += 1;
        if (round % 1000 == 0) std::this_thread::yield();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, long{kThreads} * kRounds);
  EXPECT_TRUE(lock.try_lock());
}

TEST(Lock, SleepersWakeAndKeepErrno) {
  Lock lock;
  lock.lock();
  std::atomic<int> inside{0};
  support::Waiter waiters[3];
  std::vector<std::thread> threads;
  for (support::Waiter& waiter : waiters)
    threads.emplace_back([&] {
      waiter.announce();
      errno = 12345;
      lock.lock();
      EXPECT_EQ(errno, 12345);
      ++inside;
      lock.unlock();
    });
  for (const support::Waiter& waiter : waiters) waiter.await_asleep();
  EXPECT_EQ(inside.load(), 0);
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside.load(), 3);
}

TEST(Lock, LetsTheForkingThreadPassAndNobodyElse) {
  Lock lock;
  Lock::begin_fork();
  lock.lock_for_fork();
  // Handlers of others allocate: lock and unlock are nested in the hold and do not end it.
  for (int i = 0; i < 3; ++i) {
    lock.lock();
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }
  std::atomic<int> passed{0};
  support::Waiter waiters[3];
  std::vector<std::thread> others;
  for (support::Waiter& waiter : waiters)
    others.emplace_back([&] {
      EXPECT_FALSE(lock.try_lock());
      waiter.announce();
      lock.lock();
      ++passed;
      lock.unlock();
    });
  for (const support::Waiter& waiter : waiters) waiter.await_asleep();
  EXPECT_EQ(passed.load(), 0);
  lock.unlock_after_fork();
  Lock::end_fork();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(passed.load(), 3);
}

TEST(Lock, ThreadsThatSleptBeforeTheForkWakeAfterIt) {
  Lock lock;
  lock.lock();
  support::Waiter waiter;
  std::thread sleeper([&] {
    waiter.announce();
    LockGuard guard(lock);
  });
  waiter.await_asleep();
  Lock::begin_fork();
  lock.hold_for_fork();
  lock.unlock_after_fork();
  Lock::end_fork();
  sleeper.join();
  EXPECT_TRUE(lock.try_lock());
}

TEST(Lock, AForkEndedLeavesOrdinaryHoldsAlone) {
  Lock lock;
  lock.unlock_after_fork();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock_after_fork();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

TEST(Lock, AForkHoldIsBarredToTheThreadOnceItsForkHasEnded) {
  Lock lock;
  Lock::begin_fork();
  lock.lock_for_fork();
  Lock::end_fork();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock_after_fork();
  EXPECT_TRUE(lock.try_lock());
}

TEST(SharedLock, TakingsAreCountedByFunction) {
  if (!SharedHolds::kCounted) GTEST_SKIP() << "for builds with assertions";
  const auto take = [](SharedLock& lock, InFlightGate& in_flight) {
    LockGuard guard(lock);
    const UnlockedScope unlocked(lock, in_flight);
    return std::string(CallSite::current().function_name());
  };
  const auto takings_in = [](const std::string& name) {
    uint64_t count = 0;
    SharedHolds::for_each_function([&](const std::string& file, const char* function, uint64_t takings) {
      if (name == function && file.ends_with("lock_test.cpp")) count += takings;
    });
    return count;
  };
  SharedLock lock;
  InFlightGate in_flight;
  const uint64_t before = SharedHolds::taken();
  const std::string function = take(lock, in_flight);
  EXPECT_EQ(SharedHolds::taken() - before, 2u);
  EXPECT_EQ(takings_in(function), 2u) << "the second after what goes without the lock";
  lock.lock();
  lock.unlock();
  EXPECT_EQ(takings_in(function), 2u) << "nobody named it";
}

TEST(SharedLock, NoSystemCallIsMadeWhileItIsHeld) {
#ifdef NDEBUG
  GTEST_SKIP() << "for builds with assertions";
#else
  SharedLock lock;
  EXPECT_DEATH(
      {
        LockGuard guard(lock);
        system_call(SYS_getpid);
      },
      "a system call under a process-wide lock");
  {
    LockGuard guard(lock);
    EXPECT_FALSE(lock.try_lock());
  }
  system_call(SYS_getpid);
  // A forking thread holds them all, and may make system calls.
  Lock::begin_fork();
  lock.lock_for_fork();
  system_call(SYS_getpid);
  lock.unlock_after_fork();
  Lock::end_fork();
  system_call(SYS_getpid);
#endif
}

}  // namespace
}  // namespace snug
