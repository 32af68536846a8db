/* exit_between_steps.c: a signal handler that has interrupted a malloc calls exit(), behind each of the first
 * instructions of a malloc, whether the array of its class has a block or none. Prints how many processes ended as they
 * should.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kSteps = 25, kTaken = 24, kTrap = 0x100 };

static volatile int left;

static void step(int number, siginfo_t* what, void* context) {
  (void)number, (void)what;
  if (--left == 0) exit(0);
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] |= kTrap;
}

/* Of so many blocks of the size that were taken before, the last may have been the array's last. */
static int ends_well(int steps, int taken) {
  const pid_t child = fork();
  if (child == 0) {
    void* volatile block = NULL;
    for (int i = 0; i < taken; ++i) block = malloc(3333);
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    left = steps;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    block = malloc(3333);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    _exit(block == NULL);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

int main(void) {
  int good = 0;
  for (int taken = 0; taken < kTaken; ++taken)
    for (int steps = 1; steps <= kSteps; ++steps) good += ends_well(steps, taken);
  printf("ended well %d times of %d\n", good, kTaken * kSteps);
  return 0;
}
