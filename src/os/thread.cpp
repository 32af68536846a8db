#include "os/thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/errno_keeper.h"
#include "base/system_call.h"
#include "os/input_file.h"
#include "os/process.h"
#include "os/uncancelled.h"

namespace snug::os {
namespace {

constinit Atomic<unsigned*> threads_of_libc{nullptr};
constinit Atomic<CreateThread> creator{nullptr};

// A set of processors, as sched_getaffinity() fills it.
struct Processors {
  static constexpr size_t kWords = 128;  // 8192 of them

  uint64_t words[kWords];
  size_t count;  // of words; 0 where the OS does not say

  void read() {
    const long bytes = system_call(SYS_sched_getaffinity, 0, sizeof words, words);
    count = bytes > 0 ? static_cast<size_t>(bytes) / sizeof words[0] : 0;
  }
};

// The processors that the process could run on at its start.
constinit Processors processors_at_start{};

void* run(void* body) {
  reinterpret_cast<void (*)()>(body)();
  return nullptr;
}

}  // namespace

// The stack is address space. Thread-local storage lies in it too, and the exit handlers run on it if this thread is
// the last of the process.
bool start_thread(pthread_t* thread, void (*body)(), size_t stack) {
  ErrnoKeeper keeper;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack);
  // The new thread inherits the mask. libc keeps its own signals, by which setuid reaches every thread, out of it.
  sigset_t every_signal;
  sigset_t before;
  ::sigfillset(&every_signal);
  ::pthread_sigmask(SIG_SETMASK, &every_signal, &before);
  const CreateThread known = creator.load(kRelaxed);
  const CreateThread create = known != nullptr ? known : ::pthread_create;
  const bool started = create(thread, &attributes, run, reinterpret_cast<void*>(body)) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return started;
}

void start_threads_by(CreateThread create) { creator.store(create, kRelaxed); }

bool is_unfiltered() {
  char text[4096];
  InputFile file("/proc/thread-self/status");
  size_t length = 0;
  while (const size_t got = file.read(text + length, sizeof text - 1 - length)) length += got;
  text[length] = 0;
  constexpr char kLine[] = "\nSeccomp:\t0\n";
  return strstr(text, kLine) != nullptr;
}

void leave_real_time() {
  const sched_param ordinary{};
  const long policy = system_call(SYS_sched_getscheduler, 0);
  if (policy == SCHED_FIFO || policy == SCHED_RR) system_call(SYS_sched_setscheduler, 0, SCHED_OTHER, &ordinary);
  const Processors& start = processors_at_start;
  if (start.count != 0) system_call(SYS_sched_setaffinity, 0, start.count * sizeof start.words[0], start.words);
}

bool is_real_time() {
  constexpr long kResetsOnFork = 0x40000000;
  constexpr long kDeadline = 6;  // SCHED_DEADLINE, which libc does not name without extensions
  const long policy = system_call(SYS_sched_getscheduler, 0) & ~kResetsOnFork;
  return policy == SCHED_FIFO || policy == SCHED_RR || policy == kDeadline;
}

void join_thread(pthread_t thread) {
  const Uncancelled uncancelled;
  ::pthread_join(thread, nullptr);
}

void name_thread(const char* name) { system_call(SYS_prctl, PR_SET_NAME, name); }

// Not under ThreadSanitizer, which has a thread of its own in each process that libc counts.
void find_thread_count() {
  if (kUnderThreadSanitizer) return;
  threads_of_libc.store(static_cast<unsigned*>(::dlsym(RTLD_DEFAULT, "__nptl_nthreads")), kRelaxed);
}

size_t thread_count() {
  unsigned* const count = threads_of_libc.load(kRelaxed);
  return count == nullptr ? 0 : AtomicRef<unsigned>(*count).load(kRelaxed);
}

uint32_t thread_number() { return static_cast<uint32_t>(system_call(SYS_gettid)); }

bool is_main_thread() { return thread_number() == os::process_id(); }

size_t current_core() {
  const ErrnoKeeper keeper;
  const int core = ::sched_getcpu();
  return core < 0 ? 0 : static_cast<size_t>(core);
}

void learn_processors() { processors_at_start.read(); }

size_t usable_core_count() {
  size_t count = 0;
  for (size_t word = 0; word != processors_at_start.count; ++word) count += count_ones(processors_at_start.words[word]);
  return count;
}

size_t core_count() {
  const ErrnoKeeper keeper;
  const long count = ::sysconf(_SC_NPROCESSORS_CONF);
  return count < 1 ? 1 : static_cast<size_t>(count);
}

}  // namespace snug::os
