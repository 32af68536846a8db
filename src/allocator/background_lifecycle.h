// BackgroundLifecycle: how the background thread comes, works, sleeps (live() says how long) and goes. The class Thread
// defines what its work is, when it is superfluous (at most one thread has a cache), whether it stays nevertheless
// because of silent threads, which have never allocated, and how a thread is started and joined.
//
// It leaves more than kLooks rounds behind the end of the last other thread: by then what the others have left is old,
// and has gone. Where threads come and go it so stays, and their memory with it. A thread that must be alone sends it
// away.
//
// A thread that changes whether the background thread is superfluous reads the wake event afterwards, and a thread that
// changes the wake event reads afterwards whether the background thread is superfluous. Both are sequentially
// consistent, so that of two at once at least one sees the other's change:
//
//   a thread has got a cache                invites                                BackgroundThread::thread_began
//   a thread's cache has ended              if superfluous wakes the background thread   note_end
//   the background thread announces itself  if superfluous it does not sleep         live
//   a thread must be alone                  sends the background thread away, and    be_alone
//                                           invites if it is superfluous no longer
//   the background thread leaves            invites if it is superfluous no longer   leave
//
// A background thread that has left is not detached: the next thread to send it away, or to start one, joins it. So a
// program that has joined its threads and calls be_alone() has no further thread, and no background thread starts from
// a late invitation.
//
// It is a template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <stdint.h>

#include "base/algorithm.h"

namespace snug {

template <class Thread>
class BackgroundLifecycle {
 public:
  // Without work, the background thread wakes up every so many periods to see whether silent threads are still there,
  // since their end notifies no one. With half of it an idle process wakes up twice as often; with twice of it the
  // background thread stays for longer behind them.
  static constexpr uint32_t kPatienceWithSilent = 16;
  // The most milliseconds that it sleeps where it looks at something that notifies no one: what the container holds.
  static constexpr uint32_t kBetweenLooks = 1000;
  // The most milliseconds between two attempts to give back what the OS refuses to take. What is freed in between waits
  // as long.
  static constexpr uint32_t kMostPatience = kPatienceWithSilent * kBetweenLooks;

  // Any thread may call it, while it holds no lock. True if it has started the background thread.
  static bool start(Thread& thread) {
    if (!thread.wake_event_.claim()) return false;
    join(thread);
    if (thread.start_thread()) {
      thread.is_unjoined_ = true;
      thread.wake_event_.arrive();
      return true;
    }
    thread.is_final() ? thread.wake_event_.dismiss() : thread.wake_event_.decline();
    return false;
  }

  // The background thread's main function. `period`: the class's, which may change meanwhile.
  static void live(Thread& thread) {
    thread.wake_event_.await_arrival();
    uint32_t alone = 0;  // rounds since the last that saw another thread
    for (uint32_t patience = thread.period();;) {
      const bool looks = thread.looks_by_itself();
      const uint32_t period = looks ? min(thread.period(), kBetweenLooks) : thread.period();
      thread.wake_event_.doze(period);
      const bool willing = thread.give_back_overdue();
      const bool is_beside_silent = thread.sees_silent_threads();
      // A thread may have begun and ended since the last round.
      alone = !thread.has_seen_end() && thread.is_superfluous() && !is_beside_silent ? alone + 1 : 0;
      if ((alone > Thread::kLooks && leave(thread)) || !thread.wake_event_.announce()) return;
      // What the OS does not take (locked memory, say) stays, and ages: it is tried again less and less often.
      patience = willing ? period : max(period, min(patience * 2, kMostPatience));
      const uint32_t usual = is_beside_silent ? period * kPatienceWithSilent : kMostPatience;
      const uint32_t most = looks ? min(usual, kBetweenLooks) : usual;
      // Asked again, behind announce(): the end of a cache before that has woken no one.
      if (thread.is_superfluous() && !is_beside_silent)
        thread.wake_event_.withdraw();
      else if (thread.anything_ages())
        willing ? thread.wake_event_.withdraw() : thread.wake_event_.wait(min(patience, most));
      else if (is_beside_silent || looks)
        thread.wake_event_.wait(most);
      else
        thread.wake_event_.wait();
    }
  }

  // Called in a thread after its cache has ended: the background thread may sleep without a time. May be called under
  // any lock.
  static void note_end(Thread& thread) {
    if (thread.is_superfluous()) thread.wake_event_.remind();
  }

  // If the background thread is superfluous, returns when it has gone: true if there was one. The caller holds no lock.
  static bool be_alone(Thread& thread) {
    bool was_wanted = false;
    if (!thread.is_superfluous() || !thread.wake_event_.send_away(&was_wanted)) return false;
    const bool was_there = join(thread);
    thread.wake_event_.gone();
    // A thread that has begun meanwhile could not invite.
    if (thread.is_wanted_again(was_wanted)) thread.wake_event_.invite();
    return was_there;
  }

 private:
  // True if the background thread has left, as it is superfluous.
  static bool leave(Thread& thread) {
    if (!thread.is_superfluous() || !thread.wake_event_.leave()) return false;
    if (!thread.is_superfluous() || thread.sees_silent_threads()) thread.wake_event_.invite();
    return true;
  }

  // Only for a thread that has claimed the wake event, or sends away: no other thread is in here then, and the
  // background thread needs neither a lock nor another thread to end.
  static bool join(Thread& thread) {
    if (!thread.is_unjoined_) return false;
    thread.join_thread();
    thread.is_unjoined_ = false;
    return true;
  }
};

}  // namespace snug
