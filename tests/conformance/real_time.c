/* real_time.c: a program with threads of the real-time policy, on one processor, with names of their own; the first has
 * them before the others begin. Exit status 0: the background thread that starts with them has its own name, the
 * ordinary policy, and the processors of the process's start. 77: real time is not permitted.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cpu_set_t at_start;
static pthread_barrier_t turn;

static void become_real_time(const char* name) {
  const struct sched_param high = {.sched_priority = 80};
  cpu_set_t last;
  CPU_ZERO(&last);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &at_start)) {
      CPU_ZERO(&last);
      CPU_SET(i, &last);
    }
  pthread_setname_np(pthread_self(), name);
  if (sched_setscheduler(0, SCHED_FIFO, &high) != 0 || sched_setaffinity(0, sizeof last, &last) != 0) _exit(77);
}

static void* work(void* unused) {
  become_real_time("rt-loop");
  for (size_t i = 0; i < 1000; ++i) free(malloc(300 + i));
  pthread_barrier_wait(&turn);
  pthread_barrier_wait(&turn);
  return unused;
}

static void read_name(long thread, char* name, int size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/comm", thread);
  FILE* file = fopen(path, "r");
  if (file == NULL || fgets(name, size, file) == NULL) name[0] = 0;
  if (file != NULL) fclose(file);
  name[strcspn(name, "\n")] = 0;
}

/* Of the threads: how many have that name. */
static int count_ours(void) {
  int ours = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    const long thread = strtol(task->d_name, NULL, 10);
    char name[64] = "";
    if (thread == 0) continue;
    read_name(thread, name, sizeof name);
    cpu_set_t now;
    CPU_ZERO(&now);
    sched_getaffinity((pid_t)thread, sizeof now, &now);
    const int policy = sched_getscheduler((pid_t)thread);
    printf("%ld %s: policy %d, %d processors\n", thread, name, policy, CPU_COUNT(&now));
    if (strcmp(name, "snug-idle") == 0) ours += policy == SCHED_OTHER && CPU_EQUAL(&now, &at_start) ? 1 : 100;
  }
  if (tasks != NULL) closedir(tasks);
  return ours;
}

int main(void) {
  sched_getaffinity(0, sizeof at_start, &at_start);
  pthread_barrier_init(&turn, NULL, 2);
  free(malloc(10));
  become_real_time("rt-main");
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 2;
  pthread_barrier_wait(&turn);
  /* On its feet it is when pthread_create returns, or a moment later: on a busy machine, minutes. It takes its name
   * before the policy. */
  int ours = 0;
  for (int looks = 0; looks < 30000 && (ours = count_ours()) != 1; ++looks) usleep(20000);
  pthread_barrier_wait(&turn);
  pthread_join(thread, NULL);
  return ours == 1 ? 0 : 1;
}
