#include "os/thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/errno_keeper.h"
#include "base/system_call.h"
#include "os/process.h"

namespace snug::os {
namespace {

// In address space. Thread-local storage lies in it too, and the handlers of exit run on it where this thread is the
// last of a process whose main thread has left.
constexpr size_t kStackBytes = size_t{256} << 10;

constinit std::atomic<unsigned*> threads_of_libc{nullptr};

void* run(void* body) {
  reinterpret_cast<void (*)()>(body)();
  return nullptr;
}

}  // namespace

bool start_thread(pthread_t* thread, void (*body)()) {
  ErrnoKeeper keeper;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  // The new thread inherits the mask. libc keeps its own signals out of it, by which setuid reaches every thread.
  sigset_t every_signal;
  sigset_t before;
  ::sigfillset(&every_signal);
  ::pthread_sigmask(SIG_SETMASK, &every_signal, &before);
  const bool started = ::pthread_create(thread, &attributes, run, reinterpret_cast<void*>(body)) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return started;
}

void join_thread(pthread_t thread) {
  int before = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  ::pthread_join(thread, nullptr);
  ::pthread_setcancelstate(before, nullptr);
}

void name_thread(const char* name) { system_call(SYS_prctl, PR_SET_NAME, name); }

// ThreadSanitizer has a thread of its own in each process, which libc counts.
void find_thread_count() {
  if (kUnderThreadSanitizer) return;
  threads_of_libc.store(static_cast<unsigned*>(::dlsym(RTLD_DEFAULT, "__nptl_nthreads")), std::memory_order_relaxed);
}

size_t thread_count() {
  unsigned* const count = threads_of_libc.load(std::memory_order_relaxed);
  return count == nullptr ? 0 : std::atomic_ref<unsigned>(*count).load(std::memory_order_relaxed);
}

uint32_t thread_number() { return static_cast<uint32_t>(system_call(SYS_gettid)); }

bool is_main_thread() { return thread_number() == os::process_id(); }

size_t current_core() {
  const ErrnoKeeper keeper;
  const int core = ::sched_getcpu();
  return core < 0 ? 0 : static_cast<size_t>(core);
}

size_t usable_core_count() {
  constexpr size_t kWords = 128;  // 8192 processors
  uint64_t mask[kWords];
  const long bytes = system_call(SYS_sched_getaffinity, 0, sizeof mask, mask);
  size_t count = 0;
  for (size_t word = 0; bytes > 0 && word != static_cast<size_t>(bytes) / sizeof mask[0]; ++word)
    count += count_ones(mask[word]);
  return count;
}

size_t core_count() {
  const ErrnoKeeper keeper;
  const long count = ::sysconf(_SC_NPROCESSORS_CONF);
  return count < 1 ? 1 : static_cast<size_t>(count);
}

uint64_t processor_nanoseconds() {
  timespec used{};
  system_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace snug::os
