/* fork_in_handler.c: a process of one thread forks in the handler of a signal, which comes in the midst of a fork, an
 * allocation or a free. glibc promises that to programs that never start a thread. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRounds = 20000, kWanted = 50 };

static volatile sig_atomic_t in_fork, hits, failures;

static void fork_once(void) {
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  while (waitpid(child, &status, 0) != child) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) ++failures;
}

static void handle(int signal) {
  (void)signal;
  if (in_fork) ++hits;
  fork_once();
}

int main(void) {
  signal(SIGALRM, handle);
  int round = 0;
  for (; round < kRounds && hits < kWanted; ++round) {
    const struct itimerval soon = {.it_value = {.tv_usec = 1 + round % 300}};
    setitimer(ITIMER_REAL, &soon, NULL);
    void* volatile block = malloc(1 + (size_t)round * 7919 % 70000);
    in_fork = 1;
    const pid_t child = fork();
    in_fork = 0;
    if (child == 0) _exit(7);
    while (waitpid(child, NULL, 0) != child) continue;
    free(block);
  }
  printf("%d rounds, %d signals in forks, %d children failed\n", round, (int)hits, (int)failures);
  return hits >= kWanted && failures == 0 ? 0 : 1;
}
