// pthread_create, which the drop-in forwards: after a successful call of the program's it starts the background thread,
// at the one moment at which the process is known to be allowed threads (allocator/background_thread.h), and waits for
// its first steps, a second at most. The caller holds no lock. Nothing is started after a failed call, before the
// library is initialised, or around a fork. The background thread's own creation comes through here too.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "allocator/allocator.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "os/libc_features.h"
#include "os/thread.h"

namespace snug {
namespace {

Atomic<os::CreateThread> next_create{nullptr};

os::CreateThread look_up(void* where) { return reinterpret_cast<os::CreateThread>(::dlsym(where, "pthread_create")); }

// The drop-in's own threads are created as the program's are: by the first pthread_create in the search order.
SNUG_AT_LOAD SNUG_USED void prepare_threads() {
  next_create.store(look_up(RTLD_NEXT), kRelaxed);
  // Not RTLD_DEFAULT, which finds the library itself first (-Bsymbolic).
  if (void* program = ::dlopen(nullptr, RTLD_LAZY); program != nullptr) os::start_threads_by(look_up(program));
  allocator.background.begin_with_threads();
}

}  // namespace
}  // namespace snug

extern "C" SNUG_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                                          void* argument) SNUG_LIBC_NOEXCEPT {
  using namespace snug;
  os::CreateThread create = next_create.load(kRelaxed);
  if (create == nullptr) create = look_up(RTLD_NEXT);  // a library that is initialised earlier starts a thread
  if (create == nullptr) return ENOSYS;
  const int error = create(thread, attributes, body, argument);
  if (error == 0) allocator.background.thread_made();
  return error;
}
