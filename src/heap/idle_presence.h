// IdlePresence: how the idle thread comes, works, sleeps and goes. The class Idle defines what its work is, when it is
// superfluous (at most one thread has a cache), whether it stays nevertheless because of silent threads, which have
// never allocated, and how a thread is started and joined.
//
// A thread that changes whether the idle thread is superfluous reads the bell afterwards, and a thread that changes the
// bell reads afterwards whether the idle thread is superfluous. Both are sequentially consistent, so that of two at
// once at least one sees the other's change:
//
//   a thread has got a cache                invites                                    IdleThread::thread_began
//   a thread's cache has ended              if superfluous sends the idle thread away  settle
//   the idle thread is superfluous          leaves, and invites if it no longer is     live
//
// An idle thread that has left is not detached: the next thread to send it away, or to start one, joins it. So a
// program that has joined all its threads but one has no further thread, and no idle thread starts from a late
// invitation.
//
// It is a template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace snug {

template <class Idle>
class IdlePresence {
 public:
  // The most milliseconds between two attempts to give back what the OS refuses to take. What is freed in between waits
  // as long.
  static constexpr uint32_t kMostPatience = 16000;
  // Without work, the idle thread wakes up every so many periods to see whether silent threads are still there, since
  // their end notifies no one. With half of it an idle process wakes up twice as often; with twice of it a program that
  // has joined them waits twice as long until it has one thread.
  static constexpr uint32_t kPatienceWithSilent = 16;

  // Any thread may call it, while it holds no lock. True if it has started the idle thread.
  static bool start(Idle& idle) {
    if (!idle.bell_.claim()) return false;
    join(idle);
    if (idle.start_thread()) {
      idle.is_unjoined_ = true;
      idle.bell_.arrive();
      return true;
    }
    idle.is_final() ? idle.bell_.dismiss() : idle.bell_.decline();
    return false;
  }

  // The idle thread's main function.
  static void live(Idle& idle, uint32_t period) {
    idle.bell_.await_arrival();
    for (uint32_t patience = period;;) {
      idle.bell_.doze(period);
      const bool willing = idle.give_back_overdue();
      const bool is_beside_silent = idle.sees_silent_threads();
      if ((!is_beside_silent && leave(idle)) || !idle.bell_.announce()) return;
      // What the OS does not take (locked memory, say) stays, and ages: it is tried again less and less often.
      patience = willing ? period : std::max(period, std::min(patience * 2, kMostPatience));
      const uint32_t most = is_beside_silent ? period * kPatienceWithSilent : kMostPatience;
      if (idle.anything_ages())
        willing ? idle.bell_.withdraw() : idle.bell_.wait(std::min(patience, most));
      else if (is_beside_silent)
        idle.bell_.wait(most);
      else
        idle.bell_.wait();
    }
  }

  // Called in a thread after its cache has ended. If the idle thread is superfluous, returns when that has gone.
  static void settle(Idle& idle) {
    while (idle.is_superfluous()) {
      if (!idle.bell_.send_away()) return;
      join(idle);
      idle.bell_.gone();
      if (idle.is_superfluous()) return;
      idle.bell_.invite();  // a thread that has begun meanwhile could not invite; it may have ended again by now
    }
  }

 private:
  // True if the idle thread has left, as it is superfluous. It finds that out itself: a silent thread's end calls
  // nothing.
  static bool leave(Idle& idle) {
    if (!idle.is_superfluous() || !idle.bell_.leave()) return false;
    if (!idle.is_superfluous()) idle.bell_.invite();
    return true;
  }

  // Only for a thread that has claimed the bell, or sends away: no other thread is in here then, and the idle thread
  // needs neither a lock nor another thread to end.
  static void join(Idle& idle) {
    if (!idle.is_unjoined_) return;
    idle.join_thread();
    idle.is_unjoined_ = false;
  }
};

}  // namespace snug
