// The table of the program's callbacks: which are called for what, and which no more.
#include "allocator/pressure.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

namespace snug {
namespace {

struct Counter {
  Pressure* pressure = nullptr;
  int calls = 0;
  int answer = 0;
  bool asks_inside = false;
  bool leaves_inside = false;
};

int count(const snug_pressure* level, void* argument) {
  Counter& counter = *static_cast<Counter*>(argument);
  ++counter.calls;
  if (counter.asks_inside) {
    EXPECT_FALSE(counter.pressure->may_ask(level->level));
    EXPECT_FALSE(counter.pressure->ask(*level));
  }
  if (counter.leaves_inside) {
    EXPECT_EQ(counter.pressure->watch(count, argument, 0), 0);
  }
  return counter.answer;
}

snug_pressure at(unsigned level) { return {sizeof(snug_pressure), level, 2, 1, 0, nullptr}; }

TEST(Pressure, CallsThoseThatAskedForTheLevel) {
  Pressure pressure;
  Counter soft;
  Counter hard;
  EXPECT_FALSE(pressure.may_ask(SNUG_PRESSURE_SOFT));
  EXPECT_EQ(pressure.watch(count, &soft, SNUG_PRESSURE_SOFT), 0);
  EXPECT_EQ(pressure.watch(count, &hard, SNUG_PRESSURE_HARD | SNUG_PRESSURE_STALL), 0);
  EXPECT_FALSE(pressure.ask(at(SNUG_PRESSURE_SOFT)));
  hard.answer = 1;
  EXPECT_TRUE(pressure.ask(at(SNUG_PRESSURE_HARD)));
  EXPECT_TRUE(pressure.ask(at(SNUG_PRESSURE_STALL)));
  EXPECT_EQ(soft.calls, 1);
  EXPECT_EQ(hard.calls, 2);
  EXPECT_EQ(pressure.asked(), 3u);
  EXPECT_EQ(pressure.watch(count, &soft, SNUG_PRESSURE_HARD), 0) << "other levels, and no second place";
  pressure.ask(at(SNUG_PRESSURE_SOFT));
  pressure.ask(at(SNUG_PRESSURE_HARD));
  EXPECT_EQ(soft.calls, 2);
  EXPECT_EQ(pressure.watch(count, &soft, 0), 0);
  EXPECT_EQ(pressure.watch(count, &hard, 0), 0);
  EXPECT_FALSE(pressure.may_ask(SNUG_PRESSURE_ALL));
  EXPECT_EQ(pressure.watch(count, &hard, 0), 0) << "it is none by now";
}

TEST(Pressure, RefusesWhatItCannotKeep) {
  Pressure pressure;
  std::vector<Counter> counters(Pressure::kMostCallbacks + 1);
  EXPECT_EQ(pressure.watch(nullptr, nullptr, SNUG_PRESSURE_SOFT), EINVAL);
  EXPECT_EQ(pressure.watch(count, nullptr, 8), EINVAL);
  for (size_t i = 0; i != Pressure::kMostCallbacks; ++i)
    EXPECT_EQ(pressure.watch(count, &counters[i], SNUG_PRESSURE_SOFT), 0);
  EXPECT_EQ(pressure.watch(count, &counters.back(), SNUG_PRESSURE_SOFT), ENOSPC);
  EXPECT_EQ(pressure.watch(count, &counters[3], 0), 0);
  EXPECT_EQ(pressure.watch(count, &counters.back(), SNUG_PRESSURE_SOFT), 0);
  pressure.ask(at(SNUG_PRESSURE_SOFT));
  EXPECT_EQ(counters[3].calls, 0);
  EXPECT_EQ(counters.back().calls, 1);
}

// A thread that has been cancelled, and whatever it calls would end it.
TEST(Pressure, ACancelledThreadComesOutOfTheCallback) {
  struct Asked {
    Pressure pressure;
    bool has_come_out = false;
  } asked;
  const auto is_point_of_cancellation = [](const snug_pressure*, void*) {
    pthread_testcancel();
    return 0;
  };
  asked.pressure.watch(is_point_of_cancellation, nullptr, SNUG_PRESSURE_ALL);
  const auto ask = [](void* to) -> void* {
    pthread_cancel(pthread_self());
    static_cast<Asked*>(to)->pressure.ask(at(SNUG_PRESSURE_HARD));
    static_cast<Asked*>(to)->has_come_out = true;
    pthread_testcancel();
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, ask, &asked), 0);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_TRUE(asked.has_come_out);
  EXPECT_EQ(result, PTHREAD_CANCELED) << "it is cancelled all the same, afterwards";
}

TEST(Pressure, IsNotCalledInsideItself) {
  Pressure pressure;
  Counter counter{&pressure, 0, 1, true};
  pressure.watch(count, &counter, SNUG_PRESSURE_ALL);
  EXPECT_TRUE(pressure.ask(at(SNUG_PRESSURE_HARD)));
  EXPECT_EQ(counter.calls, 1);
}

TEST(Pressure, MayLeaveFromInside) {
  Pressure pressure;
  Counter counter{&pressure, 0, 1, false, true};
  pressure.watch(count, &counter, SNUG_PRESSURE_ALL);
  EXPECT_TRUE(pressure.ask(at(SNUG_PRESSURE_HARD)));
  EXPECT_FALSE(pressure.ask(at(SNUG_PRESSURE_HARD)));
  EXPECT_EQ(counter.calls, 1);
  for (size_t i = 0; i != Pressure::kMostCallbacks; ++i)
    EXPECT_EQ(pressure.watch(count, &pressure + i, SNUG_PRESSURE_SOFT), 0) << "its place is free";
}

struct Gate {
  std::atomic<bool> inside{false};
  std::atomic<bool> may_go{false};
  std::atomic<bool> has_gone{false};
};

int wait_at(const snug_pressure*, void* argument) {
  Gate& gate = *static_cast<Gate*>(argument);
  gate.inside = true;
  while (!gate.may_go) std::this_thread::yield();
  gate.has_gone = true;
  return 0;
}

TEST(Pressure, WaitsForThreadsThatAreInIt) {
  Pressure pressure;
  Gate gate;
  pressure.watch(wait_at, &gate, SNUG_PRESSURE_SOFT);
  std::thread caller([&] { pressure.ask(at(SNUG_PRESSURE_SOFT)); });
  while (!gate.inside) std::this_thread::yield();
  std::thread opener([&] { gate.may_go = true; });
  EXPECT_EQ(pressure.watch(wait_at, &gate, 0), 0);
  EXPECT_TRUE(gate.has_gone);
  caller.join();
  opener.join();
}

struct Leavers {
  Pressure* pressure;
  std::atomic<int> inside{0};
};

// Returns once two threads are in it, each after it has taken the callback away.
int leave_together(const snug_pressure*, void* argument) {
  Leavers& leavers = *static_cast<Leavers*>(argument);
  ++leavers.inside;
  while (leavers.inside != 2) std::this_thread::yield();
  EXPECT_EQ(leavers.pressure->watch(leave_together, argument, 0), 0);
  return 0;
}

TEST(Pressure, TwoThreadsMayLeaveFromInsideAtOnce) {
  Pressure pressure;
  Leavers leavers{&pressure};
  pressure.watch(leave_together, &leavers, SNUG_PRESSURE_SOFT);
  std::thread other([&] { pressure.ask(at(SNUG_PRESSURE_SOFT)); });
  pressure.ask(at(SNUG_PRESSURE_SOFT));
  other.join();
  EXPECT_FALSE(pressure.may_ask(SNUG_PRESSURE_SOFT));
}

}  // namespace
}  // namespace snug
