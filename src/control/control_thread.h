// ControlThread: a thread that answers tools (control/control_page.h), and does work of the process's own that no
// malloc may do. It sleeps until it is asked or nudged, for ever if it never is; other threads go on meanwhile, as
// beside a thread of the program's that does the same.
//
//   open()       the configuration asks for it: for tools, for work, or both
//   make_page()  then start(), in a slow allocation of a process that may have threads
//   a fork       the child has none, and its own once these are called there again
//   dismiss()    main's thread ends: libc ends a process with its last thread, which must not be this one
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "control/control_page.h"
#include "os/file_identity.h"
#include "os/output_stream.h"

namespace snug {

class ControlThread {
 public:
  // Carries a request out. `words` are of the tool, ended by a 0. Returns 0 or an errno number.
  using Answer = int (*)(ControlCommand command, const char* words, os::OutputStream& out);
  // The most bytes that the answer may have; memory for them is there before it is asked for.
  using Room = size_t (*)(ControlCommand command);

  // Work of the process's own; the caller holds no lock.
  using Work = void (*)();

  // Before any other use.
  void open(Answer answer, Room room) {
    room_ = room;
    answer_ = answer;
  }
  void open_for_work(Work work) { work_ = work; }
  bool is_open() const { return answer_ != nullptr || work_ != nullptr; }
  bool is_wanted() const { return is_open() && page_.load(kRelaxed) == nullptr && !is_dismissed_.load(kRelaxed); }

  // Has the thread do the work soon, or once it has started. Any thread calls it, under any lock, in a signal handler
  // too. Several calls may lead to one.
  void nudge();

  // Makes the page, which tools find if there is something to answer; false if the OS refuses it. The caller holds a
  // lock that a fork takes: system calls alone.
  bool make_page();
  // The same, where the thread was refused: tools find the page no more. Other threads may be nudging by it, so that it
  // stays.
  void hide_page();
  // Starts the thread, once for each page; false if the OS refuses. The caller holds no lock: this allocates.
  // `is_unfiltered`: no filter of system calls watches it, so that it leaves the real-time policy and the processors of
  // the thread that starts it.
  bool start(bool is_unfiltered);
  void dismiss();
  void after_fork_in_child();

 private:
  void* make_shared_page();
  void drop_page();
  void live(ControlPage& page);
  void answer_request(ControlPage& page, uint32_t request);

  static ControlThread* self;  // the one that start() has started

  Answer answer_ = nullptr;
  Room room_ = nullptr;
  Work work_ = nullptr;
  Atomic<bool> has_work_{false};
  Atomic<ControlPage*> page_{nullptr};
  long file_ = -1;
  os::FileIdentity identity_;
  Atomic<bool> is_dismissed_{false};
  bool is_unfiltered_ = false;
  pthread_t thread_{};
};

}  // namespace snug
