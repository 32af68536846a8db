/* stacks.c: double frees, of which check:stacks prints the stacks. stacks CASE commits one; stacks.py has the output.
 * Built with frame pointers, and without.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "misuse.h"

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE void* innermost(size_t size) {
  void* block = malloc(size);
  return hidden(block);
}
NOINLINE void* middle(size_t size) { return hidden(innermost(size)); }
NOINLINE void* outer(size_t size) { return hidden(middle(size)); }

NOINLINE void* dispose(void* block) {
  free(block);
  return hidden(block);
}
NOINLINE void* tidy(void* block) { return hidden(dispose(block)); }

static void plain(void) { free(tidy(outer(100))); }

static void* run(void* block) { return tidy(block); }
static void thread(void) {
  pthread_t other;
  void* block = outer(100);
  if (pthread_create(&other, NULL, run, block) != 0) _exit(99);
  pthread_join(other, NULL);
  free(hidden(block));
}

/* The child has another number than its parent, and its parent's stacks. */
static void child(void) {
  void* block = outer(100);
  const pid_t pid = fork();
  if (pid == 0) {
    announce((void*)(uintptr_t)getpid());
    free(tidy(block));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) raise(WTERMSIG(status));
}

static void* in_hand;
static void handle(int number) {
  (void)number;
  in_hand = tidy(in_hand);
}
/* On a stack of its own, below the thread's. */
static void handler(void) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  sigaltstack(&alternate, NULL);
  sigaction(SIGUSR1, &action, NULL);
  in_hand = outer(100);
  raise(SIGUSR1);
  free(hidden(in_hand));
}

/* malloc(100) with what a function without a frame pointer may leave in the register. */
void* allocate_with(void* rubbish);
__asm__(
    ".text\n"
    ".type allocate_with, @function\n"
    "allocate_with:\n"
    "  push %rbp\n"
    "  mov %rdi, %rbp\n"
    "  mov $100, %edi\n"
    "  call malloc@PLT\n"
    "  pop %rbp\n"
    "  ret\n"
    ".size allocate_with, . - allocate_with\n");

static void rubbish(void) {
  char* here = __builtin_frame_address(0);
  char* gap = mmap(NULL, 3 << 12, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(gap + (1 << 12), 1 << 12, PROT_READ | PROT_WRITE);
  char* const values[] = {NULL,
                          (char*)1,
                          (char*)16,
                          gap,
                          gap + (1 << 12),
                          gap + (2 << 12) - 16,
                          gap + (2 << 12) - 8,
                          (char*)-16,
                          (char*)-8,
                          (char*)-4096,
                          (char*)0x7ffffffff000,
                          (char*)0x8000000000000000,
                          (char*)0xffffffffff600000,
                          (char*)plain};
  void* block = NULL;
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) free(block = allocate_with(values[i]));
  /* Above the frame: every place up to the end of the stack, and far beyond it. */
  for (size_t i = 0; i < 1 << 16; ++i) free(block = allocate_with(here + i * 8));
  for (size_t i = 0; i < 1 << 12; ++i) free(block = allocate_with(here + i * (1 << 16)));
  free(hidden(block));
}

/* The same in a thread: its stack lies between others' and has a gap below it. */
static void* run_rubbish(void* unused) {
  rubbish();
  return unused;
}
static void rubbish_in_thread(void) {
  pthread_t other;
  if (pthread_create(&other, NULL, run_rubbish, NULL) != 0) _exit(99);
  pthread_join(other, NULL);
}

/* Frames that there never were, more than are kept. */
static void full(void) {
  uintptr_t frames[32] __attribute__((aligned(16)));
  void* block = NULL;
  for (size_t i = 0; i < 200000; ++i) {
    for (size_t frame = 0; frame < 16; ++frame) {
      frames[2 * frame] = (uintptr_t)&frames[2 * frame + 2];
      frames[2 * frame + 1] = i * 64 + frame + 1;
    }
    frames[30] = 0;
    free(block);
    block = allocate_with(frames);
  }
  free(tidy(block));
}

/* Calls itself from three places, in the order that the number's digits of base 3 tell, down to an allocation. */
NOINLINE char* descend(size_t order, size_t depth) {
  if (depth == 0) {
    char* block = malloc(100);
    return hidden(block);
  }
  if (order % 3 == 0) return (char*)hidden(descend(order / 3, depth - 1));
  if (order % 3 == 1) return (char*)hidden(descend(order / 3, depth - 1) + 1) - 1;
  return (char*)hidden(descend(order / 3, depth - 1) + 2) - 2;
}

/* More orders of the same frames than stacks are kept, and one stack more. */
static void recursion(void) {
  for (size_t order = 8; order < 200000; ++order) free(descend(order, 15));
  free(tidy(descend(7, 15)));
}

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    void (*commit)(void);
  } cases[] = {{"plain", plain},     {"thread", thread},      {"child", child},
               {"handler", handler}, {"rubbish", rubbish},    {"rubbish_in_thread", rubbish_in_thread},
               {"full", full},       {"recursion", recursion}};
  for (size_t i = 0; count == 2 && i < sizeof cases / sizeof *cases; ++i)
    if (strcmp(arguments[1], cases[i].name) == 0) cases[i].commit();
  return 98;
}
