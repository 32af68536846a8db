/* real_time_silent.c: two threads allocate, exchange and free blocks of up to 256 KiB, a million times, behind a filter
 * that ends the process at any system call of theirs; some of the blocks are ordinary ones of the main thread's.
 *
 *   announced   the threads have announced themselves (snug/realtime.h). Exit status 0: they have made no call, and, if
 *               the region is locked, no page fault
 *   ordinary    they have not. Exit status 0: the filter has ended the process
 *
 * 77: the kernel has no filters.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snug/realtime.h"

enum { kOperations = 1000000, kWarmUp = 20000, kSlots = 256, kOrdinary = 4000 };

static void* slots[kSlots];
static void* ordinary[kOrdinary];
static int (*enter)(size_t);
static int is_locked;

/* The thread's own two: how many faults it had, and its end. */
static int lock_up(void) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static unsigned next(unsigned* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* What is found in a slot, or given, is freed; what is made goes there. */
static void operate(unsigned* seed, void* given) {
  const size_t size = next(seed) % (16u << next(seed) % 15u) + 1;
  void* block = next(seed) % 8 != 0 ? malloc(size) : NULL;
  if (block == NULL) block = aligned_alloc(64, (size + 63) / 64 * 64);
  if (block != NULL) memset(block, 1, size < 512 ? size : 512);
  if (block != NULL && next(seed) % 8 == 0) {
    void* resized = realloc(block, size / 2 + 1);
    if (resized != NULL) block = resized;
  }
  free(__atomic_exchange_n(&slots[next(seed) % kSlots], block, __ATOMIC_ACQ_REL));
  free(given);
}

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

static int finished;

static void* work(void* number) {
  unsigned seed = (unsigned)(size_t)number + 1;
  if (enter != NULL && enter(48 << 20) != 0) _exit(3);
  for (int i = 0; i < kWarmUp; ++i) operate(&seed, NULL);
  faults();
  if (!lock_up()) _exit(77);
  const long before = faults();
  for (int i = 0; i < kOperations; ++i) operate(&seed, i < kOrdinary / 2 ? ordinary[2 * i + (size_t)number] : NULL);
  void* had = (void*)(faults() - before);
  __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
  /* The thread's end calls the kernel: the last one ends the process. */
  static long all;
  __atomic_fetch_add(&all, (long)had, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) != 2) {
  }
  syscall(SYS_exit_group, is_locked && __atomic_load_n(&all, __ATOMIC_ACQUIRE) != 0 ? 4 : 0);
  return NULL;
}

static void run(int is_announced) {
  int (*begin)(size_t) = (int (*)(size_t))dlsym(RTLD_DEFAULT, "snug_realtime_begin");
  if (is_announced) {
    int (*get)(struct snug_realtime_stats*) =
        (int (*)(struct snug_realtime_stats*))dlsym(RTLD_DEFAULT, "snug_realtime_get_stats");
    struct snug_realtime_stats stats = {.size = sizeof stats};
    if (begin == NULL || begin(128 << 20) != 0 || get(&stats) != 0) _exit(2);
    is_locked = stats.locked;
    enter = (int (*)(size_t))dlsym(RTLD_DEFAULT, "snug_realtime_enter");
  }
  for (int i = 0; i < kOrdinary; ++i) ordinary[i] = memset(malloc((size_t)i * 64 + 64), 1, 64);
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  pthread_join(threads[0], NULL);
}

int main(int argc, char** argv) {
  const int is_announced = argc == 2 && strcmp(argv[1], "announced") == 0;
  const pid_t child = fork();
  if (child == 0) run(is_announced);
  int status = 0;
  waitpid(child, &status, 0);
  const int was_stopped = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  printf("%s: status %x\n", is_announced ? "announced" : "ordinary", (unsigned)status);
  if (code == 77) return 77;
  return is_announced ? code : !was_stopped;
}
