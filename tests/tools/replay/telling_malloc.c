// What replays are tried on. Libc serves, by the names that it has for its own functions.
//
// Says in which order blocks of 1000 and of 2000 bytes are freed, in the file $TELL; and in the file $CLOCK, when those
// of 2000 bytes are, in seconds by the clocks that it reads. Where $THREADS is
// "refused" it starts no thread, where it is "quit" it ends the program at the first, as if all were well, and
// where it is "helped" it has a thread of its own beside the first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void* __libc_malloc(size_t size);
void __libc_free(void* block);

static int opened(const char* variable) {
  const char* const file = getenv(variable);
  return file == NULL ? -1 : open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void tell_clocks(void) {
  const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_REALTIME};
  long seconds[4];
  const int descriptor = opened("CLOCK");
  if (descriptor < 0) return;
  for (int i = 0; i < 4; ++i) {
    struct timespec now;
    if (clock_gettime(clocks[i], &now) != 0 || now.tv_nsec < 0 || now.tv_nsec > 999999999) abort();
    seconds[i] = (long)now.tv_sec;
  }
  // By one write: another thread may be telling as well.
  dprintf(descriptor, "%ld %ld %ld %ld\n", seconds[0], seconds[1], seconds[2], seconds[3]);
  close(descriptor);
}

void* malloc(size_t size) { return __libc_malloc(size); }

void free(void* block) {
  const size_t size = block == NULL ? 0 : malloc_usable_size(block);
  const int descriptor = size / 100 == 10 || size / 100 == 20 ? opened("TELL") : -1;
  if (descriptor >= 0) {
    const char digit = size / 100 == 10 ? '1' : '2';
    if (write(descriptor, &digit, 1) != 1) abort();
    close(descriptor);
  }
  if (size / 100 == 20) tell_clocks();
  __libc_free(block);
}

static double seconds_of_thread(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// As if it had to go through many free blocks: for $MALLINFO seconds.
struct mallinfo2 mallinfo2(void) {
  const char* const takes = getenv("MALLINFO");
  const double until = takes == NULL ? 0 : seconds_of_thread() + atof(takes);
  struct mallinfo2 (*const of_libc)(void) = dlsym(RTLD_NEXT, "mallinfo2");
  while (seconds_of_thread() < until) {
  }
  return of_libc();
}

static void* help(void* argument) {
  for (;;) pause();
  return argument;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*), void* argument) {
  const char* const threads = getenv("THREADS");
  if (threads != NULL && strcmp(threads, "refused") == 0) return EAGAIN;
  if (threads != NULL && strcmp(threads, "quit") == 0) _exit(0);
  int (*const create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  static int has_helper = 0;
  pthread_t helper;
  if (threads != NULL && strcmp(threads, "helped") == 0 && !__atomic_exchange_n(&has_helper, 1, __ATOMIC_RELAXED))
    create(&helper, NULL, help, NULL);
  return create(thread, attributes, begin, argument);
}
