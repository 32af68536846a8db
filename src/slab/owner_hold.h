// OwnerHold: a thread of the heap's works on it, and has brought home what had come. It holds the heap's lock,
// unless the process has one thread, which needs none. Whether it has is asked once, at the beginning: it can change in
// no hold, as a hold neither starts a thread nor joins one, and whoever starts or joins one has everything before it
// done. Asked again at the end, a thread could drop a lock that it has not taken.
//
// A template over the heap and the process, which tests/schedule runs in every order of its steps. The heap has lock(),
// begin_hold(), end_hold(), and the atomic flag is_owner_in_, for the thread's signal handlers.
#pragma once

#include <atomic>

namespace snug {

template <class Heap, class Process>
class OwnerHold {
 public:
  explicit OwnerHold(Heap& heap) : heap_(heap), is_locked_(!Process::is_single_threaded()) {
    if (is_locked_) heap_.lock().lock();
    heap_.is_owner_in_.store(true, std::memory_order_relaxed);
    // A signal handler never sees what follows without the flag, nor the flag gone before all that came before.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    heap_.begin_hold();
  }
  ~OwnerHold() {
    heap_.is_owner_in_.store(false, std::memory_order_release);
    if (is_locked_) heap_.end_hold();
  }
  OwnerHold(const OwnerHold&) = delete;
  OwnerHold& operator=(const OwnerHold&) = delete;

  // For the calling thread: the heap's owner, which is itself, is in without the lock.
  static bool is_in_without_lock(const Heap& heap) {
    return Process::is_single_threaded() && heap.is_owner_in_.load(std::memory_order_relaxed);
  }

 private:
  Heap& heap_;
  const bool is_locked_;
};

}  // namespace snug
