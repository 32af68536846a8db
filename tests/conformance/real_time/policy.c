/* real_time_policy.c, with SNUG_CONF=profile_rt: a thread is announced once it runs under a real-time policy and its
 * cache has run empty, and no other; and what it frees of other threads' goes where it came from. Exit status 77: real
 * time is not permitted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "snug/realtime.h"

static struct snug_realtime_stats stats(void) {
  struct snug_realtime_stats stats = {.size = sizeof stats};
  int (*get)(struct snug_realtime_stats*) =
      (int (*)(struct snug_realtime_stats*))dlsym(RTLD_DEFAULT, "snug_realtime_get_stats");
  if (get == NULL || get(&stats) != 0) _exit(2);
  return stats;
}

static void work(size_t more) {
  static __thread void* blocks[1000];
  for (size_t i = 0; i < 1000; ++i) blocks[i] = malloc(i * 5 + more);
  for (size_t i = 0; i < 1000; ++i) free(blocks[i]);
}

static void* control(void* of_main) {
  const struct sched_param high = {.sched_priority = 10};
  work(0);
  if (stats().threads != 0) return "an ordinary thread is announced";
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &high) != 0) _exit(77);
  work(10000);
  if (stats().threads != 1 || stats().own_bytes == 0) return "a real-time thread is not announced";
  free(of_main);
  free(aligned_alloc(4096, 4096));
  free(calloc(1, 1 << 20));
  return stats().own_free == stats().own_bytes ? NULL : "blocks of the part are missing";
}

int main(void) {
  if (stats().bytes != 64 << 20) {
    puts("there is no region");
    return 1;
  }
  for (int round = 0; round < 40; ++round) {
    pthread_t thread;
    void* wrong = NULL;
    if (pthread_create(&thread, NULL, control, malloc(100)) != 0) return 2;
    pthread_join(thread, &wrong);
    if (wrong != NULL) {
      puts(wrong);
      return 1;
    }
    if (stats().threads != 0) return 3;
  }
  return 0;
}
