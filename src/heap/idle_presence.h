// IdlePresence: how the idle thread comes, works, sleeps and goes. Who is Idle says what its work is, when it is
// superfluous (no more than one thread has a cache), whether it stays nevertheless, as it sees silent threads, which
// have never allocated, and how a thread is started and joined.
//
// Whoever changes whether it is superfluous looks at the bell afterwards, and whoever changes the bell asks afterwards
// whether it is superfluous; both are sequentially consistent, so that one of two at once sees the other:
//
//   a thread has got a cache                invites                                    IdleThread::thread_began
//   a thread's cache has ended              if superfluous sends the thread away       settle
//   the thread finds itself superfluous     leaves, and invites if it no longer is     live
//
// Who has left is not detached: the next to send away, or to start, joins what is left of it. So whoever has joined all
// threads of the program but one finds no further one, and no invitation that came late.
//
// A template, which tests/schedule runs in every order of its steps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace snug {

template <class Idle>
class IdlePresence {
 public:
  // Milliseconds between two tries of what the OS refuses to take. What comes free in between waits as long.
  static constexpr uint32_t kMostPatience = 16000;
  // Looks, while there is work, to one look where there is none, at whether silent threads are still there: they end
  // without a word. With half of it an idle process wakes up twice as often, with twice of it whoever has joined them
  // waits twice as long until it has one thread.
  static constexpr uint32_t kPatienceWithSilent = 16;

  // In any thread, outside of every lock. True if it has started the idle thread.
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

  // In the thread itself, whose life it is.
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

  // In a thread whose cache has ended. Returns when the idle thread has gone, if it is superfluous.
  static void settle(Idle& idle) {
    while (idle.is_superfluous()) {
      if (!idle.bell_.send_away()) return;
      join(idle);
      idle.bell_.gone();
      if (idle.is_superfluous()) return;
      idle.bell_.invite();  // whoever has begun meanwhile could not; and may have ended, without finding anybody
    }
  }

 private:
  // Silent threads, for which it came at the start, end without a word.
  static bool leave(Idle& idle) {
    if (!idle.is_superfluous() || !idle.bell_.leave()) return false;
    if (!idle.is_superfluous()) idle.bell_.invite();
    return true;
  }

  // For who has claimed, or sends away: nobody else is in here, and the thread needs no lock and nobody to end.
  static void join(Idle& idle) {
    if (!idle.is_unjoined_) return;
    idle.join_thread();
    idle.is_unjoined_ = false;
  }
};

}  // namespace snug
