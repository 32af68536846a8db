// ControlThread: a thread that answers tools (control/control_page.h). It sleeps until one asks, for ever if none does;
// other threads go on while it answers, as beside a thread of the program's that asks the same.
//
//   open()    the configuration asks for it       start()    a slow allocation of a process that may have threads
//   a fork    the child has none, and its own page once start() is called there again
//   dismiss() main's thread ends: libc ends a process with its last thread, which must not be this one
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "control/control_page.h"
#include "os/output_stream.h"

namespace snug {

class ControlThread {
 public:
  // Carries a request out. `words` are of the tool, ended by a 0. Returns 0 or an errno number.
  using Answer = int (*)(ControlCommand command, const char* words, os::OutputStream& out);

  // Before any other use.
  void open(Answer answer) { answer_ = answer; }
  bool is_wanted() const { return answer_ != nullptr && page_ == nullptr && !is_dismissed_.load(kRelaxed); }

  // Makes page and thread. By one thread at a time, which holds no lock: creating a thread allocates. If the OS refuses
  // either, there is none.
  void start();
  void dismiss();
  void after_fork_in_child();

 private:
  bool make_page();
  void drop_page();
  void live();
  void answer_request(uint32_t request);

  static ControlThread* self;  // the one that start() has started

  Answer answer_ = nullptr;
  ControlPage* page_ = nullptr;
  long file_ = -1;
  Atomic<bool> is_dismissed_{false};
  pthread_t thread_{};
};

}  // namespace snug
