// What the drop-in forwards of libc's for the background thread's sake (allocator/background_thread.h). The caller
// holds no lock.
//
// pthread_create(): behind a successful call of the program's it starts the background thread, at the one moment at
// which the process is known to be allowed threads, and waits for its first steps, a second at most. Nothing is started
// after a failed call, before the library is initialised, or around a fork. The background thread's own creation comes
// through here too.
//
// unshare(), setns(): before them it sends the background thread away if the program has one thread, as the kernel
// refuses some of them to a process of several. Weak, as a program may have functions of its own by these names, with
// which snug.cpp is linked.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "allocator/allocator.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/pause.h"
#include "c_interface/program_symbols.h"
#include "heap/user_heaps.h"
#include "os/libc_features.h"
#include "os/thread.h"

namespace snug {
namespace {

Atomic<os::CreateThread> next_create{nullptr};
Atomic<int (*)(int)> next_unshare{nullptr};
Atomic<int (*)(int, int)> next_setns{nullptr};

// The function behind this library in the search order; also for a library that calls it before ours is initialised.
template <class Function>
Function next_of(Atomic<Function>& known, const char* name) {
  Function next = known.load(kRelaxed);
  if (next == nullptr) known.store(next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name)), kRelaxed);
  return next;
}

// The drop-in's own threads are created as the program's are: by the first pthread_create in the search order.
SNUG_AT_LOAD SNUG_USED void prepare_threads() {
  next_of(next_create, "pthread_create");
  next_of(next_unshare, "unshare");  // now, as the loader's lock may be held where they are called
  next_of(next_setns, "setns");
  os::start_threads_by(reinterpret_cast<os::CreateThread>(find_in_program("pthread_create")));
  allocator.background.begin_with_threads();
}

// Makes a call that the kernel refuses with EINVAL where there are further threads. It counts one that has ended for a
// moment longer than libc does.
template <class Call>
int call_alone(Call call) {
  allocator.background.be_alone();
  for (;; pause_a_moment()) {
    const int result = call();
    if (result == 0 || errno != EINVAL || !allocator.background.has_gone_lately()) return result;
  }
}

int refuse() {
  errno = ENOSYS;
  return -1;
}

}  // namespace
}  // namespace snug

extern "C" SNUG_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                                          void* argument) SNUG_LIBC_NOEXCEPT {
  using namespace snug;
  const os::CreateThread create = next_of(next_create, "pthread_create");
  if (create == nullptr) return ENOSYS;
  int error = 0;
  {
    const ScopePause pause;  // what libc keeps with a stack outlives the heap of a scope
    error = create(thread, attributes, body, argument);
  }
  if (error == 0) allocator.background.thread_made();
  return error;
}

extern "C" SNUG_WEAK_EXPORT int unshare(int flags) SNUG_LIBC_NOEXCEPT {
  using namespace snug;
  const auto next = next_of(next_unshare, "unshare");
  return next == nullptr ? refuse() : call_alone([&] { return next(flags); });
}

extern "C" SNUG_WEAK_EXPORT int setns(int descriptor, int kind) SNUG_LIBC_NOEXCEPT {
  using namespace snug;
  const auto next = next_of(next_setns, "setns");
  return next == nullptr ? refuse() : call_alone([&] { return next(descriptor, kind); });
}
