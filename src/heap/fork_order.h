// ForkOrder: takes all locks around a fork, in the one order in which any thread takes several of them.
//
//   list of streams ─► opening ─► roster ─► heaps ─► roll ─► large store ─► span store ─► arrays ─► arena
//
// Behind these the store takes the locks of the quarantine (checked/quarantine.h) and of the guarded pages, under which
// no thread takes another part's lock.
//
// The fork waits for operations of several holds (a heap that changes owners, a span in hand): the thread in one needs
// only locks that come later. libc takes the lock of its list of streams between our handlers and the fork, so that it
// comes first (os/open_streams.h). While all are held, lock() still succeeds for the forking thread alone, so that
// other libraries' fork handlers can allocate.
//
// It is a template over the store so that tests/schedule can run it in every order of its steps. No thread holds a lock
// of a part that is not open.
#pragma once

namespace snug {

template <class Store>
class ForkOrder {
 public:
  static void before(Store& store) {
    Store::Streams::lock();
    // Our first lock makes forks of several threads take turns: the forking thread is the one that holds it.
    store.opening_.lock();
    Store::ForkLock::begin_fork();
    store.opening_.hold_for_fork();
    store.idle.before_fork();
    store.idle.wait_for_empty_hands();
    if (!store.is_open()) return;
    store.roster.lock_at_rest();
    store.registry.lock_all();
    store.large.lock_at_rest();
    store.spans.lock_at_rest();
    store.arrays.lock().lock_for_fork();
    store.arena.lock().lock_for_fork();
  }

  static void after_in_parent(Store& store) {
    store.idle.after_fork_in_parent();
    unlock(store);
    Store::Streams::unlock();
  }

  static void after_in_child(Store& store) {
    store.idle.after_fork_in_child();
    unlock(store);
    Store::Streams::reset();
  }

 private:
  static void unlock(Store& store) {
    if (store.is_open()) {
      store.arena.lock().unlock_after_fork();
      store.arrays.lock().unlock_after_fork();
      store.spans.lock().unlock_after_fork();
      store.large.unlock_after_fork();
      store.registry.unlock_all();
      store.roster.unlock_after_fork();
    }
    Store::ForkLock::end_fork();
    store.opening_.unlock_after_fork();
  }
};

}  // namespace snug
