/* interposer.c: a library that stands before libc's functions, as those do that fake a clock, count calls or cache what
 * libc answers. Each of them allocates, also in looking up what it stands before, and frees: an allocator that calls it
 * while it holds a lock, or before it is ready, waits for itself or goes round in circles.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

/* What an interposer allocates may call it again: as those that are in use do, it then passes the call on. */
static __thread int depth __attribute__((tls_model("initial-exec")));
static unsigned long calls;

static void allocate(void) {
  ++calls;
  void* volatile small = malloc(24 + calls % 1000);
  void* volatile large = malloc(300000);
  free(small);
  free(large);
}

/* dlsym itself may allocate, and does where it fails. */
static void* look_up(const char* name) {
  dlsym(RTLD_NEXT, "no_such_function_anywhere");
  dlerror();
  return dlsym(RTLD_NEXT, name);
}

#define INTERPOSE(result, name, parameters, arguments)          \
  result name parameters {                                      \
    static __typeof__(name)* next;                              \
    ++depth;                                                    \
    if (depth == 1) allocate();                                 \
    if (next == NULL) next = (__typeof__(name)*)look_up(#name); \
    const __typeof__(next arguments) answer = next arguments;   \
    if (depth == 1) allocate();                                 \
    --depth;                                                    \
    return answer;                                              \
  }

INTERPOSE(int, clock_gettime, (clockid_t clock, struct timespec* now), (clock, now))
INTERPOSE(ssize_t, getrandom, (void* to, size_t size, unsigned flags), (to, size, flags))
INTERPOSE(void*, mmap, (void* at, size_t size, int protection, int flags, int file, off_t from),
          (at, size, protection, flags, file, from))
INTERPOSE(int, munmap, (void* at, size_t size), (at, size))
INTERPOSE(int, mprotect, (void* at, size_t size, int protection), (at, size, protection))
INTERPOSE(int, madvise, (void* at, size_t size, int advice), (at, size, advice))
INTERPOSE(int, sched_getaffinity, (pid_t process, size_t size, cpu_set_t* set), (process, size, set))
INTERPOSE(int, sched_getcpu, (void), ())
INTERPOSE(int, sched_yield, (void), ())
INTERPOSE(long, sysconf, (int name), (name))
INTERPOSE(unsigned long, getauxval, (unsigned long type), (type))
INTERPOSE(int, sysinfo, (struct sysinfo * info), (info))
INTERPOSE(int, getrlimit, (__rlimit_resource_t resource, struct rlimit* limit), (resource, limit))
INTERPOSE(char*, getenv, (const char* name), (name))
INTERPOSE(int, sigaction, (int number, const struct sigaction* action, struct sigaction* before),
          (number, action, before))
INTERPOSE(int, pthread_create, (pthread_t * thread, const pthread_attr_t* with, void* (*body)(void*), void* argument),
          (thread, with, body, argument))
INTERPOSE(int, pthread_join, (pthread_t thread, void** result), (thread, result))
INTERPOSE(int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void*)), (key, destroy))
INTERPOSE(int, pthread_setspecific, (pthread_key_t key, const void* value), (key, value))
INTERPOSE(int, pthread_attr_init, (pthread_attr_t * attributes), (attributes))
INTERPOSE(int, pthread_attr_setstacksize, (pthread_attr_t * attributes, size_t size), (attributes, size))
INTERPOSE(int, pthread_attr_destroy, (pthread_attr_t * attributes), (attributes))
INTERPOSE(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* before), (how, set, before))
INTERPOSE(int, pthread_setcancelstate, (int state, int* before), (state, before))
INTERPOSE(pid_t, fork, (void), ())
