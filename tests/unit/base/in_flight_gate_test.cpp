// While a thread holds the lock at rest, no other thread is in flight.
#include "base/in_flight_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "waiting.h"

namespace snug {
namespace {

TEST(InFlightGate, AtRestMeansNobodyInside) {
  SharedLock lock;
  InFlightGate in_flight;
  std::atomic<bool> at_rest{false};
  for (int i = 0; i < 2; ++i) {
    LockGuard guard(lock);
    in_flight.enter();
  }
  support::Waiter waiter;
  std::thread forking([&] {
    waiter.announce();
    Lock::begin_fork();
    in_flight.lock_at_rest(lock);
    at_rest = true;
    EXPECT_TRUE(lock.try_lock());  // held for a fork: its own thread passes
    lock.unlock();
    lock.unlock_after_fork();
    Lock::end_fork();
  });
  for (int inside = 2; inside != 0; --inside) {
    waiter.await_asleep();
    EXPECT_FALSE(at_rest.load()) << inside << " inside";
    LockGuard guard(lock);
    in_flight.leave();
  }
  forking.join();
  EXPECT_TRUE(at_rest.load());
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
}  // namespace snug
