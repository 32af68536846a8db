#include "allocator/pressure.h"

#include <errno.h>

#include "base/pause.h"
#include "os/uncancelled.h"
#include "thread/thread_state.h"

namespace snug {

Pressure::Watcher* Pressure::find(snug_pressure_callback callback, void* argument) {
  for (Watcher& watcher : watchers_)
    if (watcher.callback == callback && watcher.argument == argument) return &watcher;
  return nullptr;
}

void Pressure::note_levels() {
  unsigned levels = 0;
  for (const Watcher& watcher : watchers_) levels |= watcher.levels;
  levels_.store(levels, kRelaxed);
}

int Pressure::watch(snug_pressure_callback callback, void* argument, unsigned levels) {
  if (callback == nullptr || (levels & ~SNUG_PRESSURE_ALL) != 0) return EINVAL;
  for (bool has_begun = false;; has_begun = true) {
    {
      const LockGuard guard(lock_);
      Watcher* watcher = find(callback, argument);
      if (watcher == nullptr && levels == 0) return 0;
      if (watcher == nullptr) watcher = find(nullptr, nullptr);
      if (watcher == nullptr) return ENOSPC;
      if (has_begun && watcher->levels != 0) return 0;  // another thread has asked for it again
      watcher->callback = callback;
      watcher->argument = argument;
      watcher->levels = levels;
      note_levels();
      if (levels != 0) return 0;
      // The place is free once no thread is in the callback. A thread in any callback does not wait: two that wait for
      // each other would wait for ever.
      if (watcher->threads == 0) *watcher = {};
      if (watcher->threads == 0 || thread_state.asked != 0) return 0;
    }
    pause_a_moment();
  }
}

bool Pressure::may_ask(unsigned level) const {
  return (levels_.load(kRelaxed) & level) != 0 && thread_state.asked == 0;
}

bool Pressure::ask(const snug_pressure& pressure) {
  if (!may_ask(pressure.level)) return false;
  bool any = false;
  for (size_t i = 0; i != kMostCallbacks; ++i) {
    snug_pressure_callback callback = nullptr;
    void* argument = nullptr;
    {
      const LockGuard guard(lock_);
      Watcher& watcher = watchers_[i];
      if ((watcher.levels & pressure.level) == 0) continue;
      callback = watcher.callback;
      argument = watcher.argument;
      ++watcher.threads;
    }
    asked_.fetch_add(1, kRelaxed);
    thread_state.asked = static_cast<uint8_t>(i + 1);
    {
      const os::Uncancelled uncancelled;  // or the place would count the thread for ever
      any = callback(&pressure, argument) != 0 || any;
    }
    thread_state.asked = 0;
    const LockGuard guard(lock_);
    Watcher& watcher = watchers_[i];
    if (--watcher.threads == 0 && watcher.levels == 0) watcher = {};  // it was taken away meanwhile
  }
  return any;
}

void Pressure::after_fork_in_child() {
  for (size_t i = 0; i != kMostCallbacks; ++i) {
    Watcher& watcher = watchers_[i];
    watcher.threads = thread_state.asked == i + 1 ? 1 : 0;
    if (watcher.threads == 0 && watcher.levels == 0) watcher = {};
  }
}

}  // namespace snug
