/* early_fork.c: forks, each with a handler of early_fork_handler.c's that waits for a thread which allocates. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void start_worker(void);

int main(void) {
  alarm(600);
  for (int i = 0; i < 50; ++i) {
    start_worker();
    const pid_t child = fork();
    if (child == 0) {
      for (size_t size = 1; size < 100000; size *= 3) free(malloc(size));
      _exit(7);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) {
      printf("fork %d: the child ended with status %d\n", i, status);
      return 1;
    }
  }
  return 0;
}
