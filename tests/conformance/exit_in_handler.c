/* exit_in_handler.c: a signal handler that calls exit() while the program is in the middle of malloc. POSIX promises
 * nothing of that, yet programs do it, and malloc has no part in exit(): whatever was interrupted, the process ends.
 *
 * Children that do nothing but allocate are interrupted at moments spread over their work, every other one in its first
 * allocations, where a malloc sets itself up. Prints how many have ended.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kChildren = 300, kBlocks = 400, kSecondsAtMost = 600 };

static void leave(int signal) {
  (void)signal;
  exit(0);
}

/* Slow paths of every kind: arrays that run empty and full, slabs that come and go, large blocks, a trim. */
static void allocate_for_ever(void) {
  static void* blocks[kBlocks];
  for (;;) {
    for (size_t size = 100; size < 2000000; size *= 6) {
      const int count = size < 100000 ? kBlocks : 4;
      for (int i = 0; i < count; ++i) blocks[i] = malloc(size);
      for (int i = 0; i < count; ++i) free(blocks[i]);
    }
    malloc_trim(0);
  }
}

static void run_child(int number) {
  struct sigaction action = {0};
  action.sa_handler = leave;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval soon = {.it_value = {.tv_usec = number % 2 == 0 ? 1 + number : 1000 + 7 * number}};
  setitimer(ITIMER_REAL, &soon, NULL);
  allocate_for_ever();
}

int main(void) {
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) run_child(i);
    const time_t begin = time(NULL);
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 && time(NULL) - begin < kSecondsAtMost) usleep(200);
    if (ended != child || status != 0) {
      kill(child, SIGKILL);
      printf("child %d %s\n", i, ended == child ? "ended badly" : "hangs");
      return 1;
    }
  }
  printf("ended %d times\n", kChildren);
  return 0;
}
