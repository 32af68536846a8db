/* published.c MODE: a process to be asked by the tool. Prints a line when it is ready, and ends with its input.
 *
 *   work     three threads replace blocks; main holds 1000 of 10000 bytes and has freed 32 MiB
 *   fork     the same without threads; a child that allocates says its number on a second line
 *   closes   closes all files but the first three, opens others, and forks: its child still has these
 *   leaves   main's thread ends; the other reads the input
 *   fakes    has a file of the page's name that is none
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named_thread.h"

static pthread_barrier_t all_hold;

__attribute__((noinline)) static char* hold(size_t bytes) {
  char* block = malloc(bytes);
  if (block == NULL) abort();
  memset(block, 1, bytes);
  return block;
}

static void* replace(void* nothing) {
  (void)nothing;
  char* blocks[2000];
  for (int i = 0; i < 2000; ++i) blocks[i] = hold(300);
  pthread_barrier_wait(&all_hold);
  for (int i = 0;; i = (i + 1) % 2000) {
    free(blocks[i]);
    blocks[i] = hold(300);
    if (i == 0) usleep(1000);
  }
  return NULL;
}

static void hold_some(void) {
  for (int i = 0; i < 1000; ++i) hold(10000);
  char* freed[512];
  for (int i = 0; i < 512; ++i) freed[i] = hold(1 << 16);
  for (int i = 0; i < 512; ++i) free(freed[i]);
}

/* The thread that answers tools takes its name once its file is there. A process that does not publish has none. */
static void await_control_thread(void) {
  const char* settings = getenv("SNUG_CONF");
  if (settings == NULL || strstr(settings, "publish:on") == NULL) return;
  while (!has_thread_named("snug-control")) usleep(1000);
}

static void wait_for_end(void) {
  while (getchar() != EOF) continue;
}

static void* end_with_input(void* nothing) {
  puts("ready");
  fflush(stdout);
  wait_for_end();
  return nothing;
}

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "";
  setvbuf(stdin, NULL, _IONBF, 0); /* else the first read allocates, behind "ready" */
  hold_some();
  pthread_t thread;
  if (strcmp(mode, "work") == 0) {
    pthread_barrier_init(&all_hold, NULL, 4);
    for (int i = 0; i < 3; ++i) pthread_create(&thread, NULL, replace, NULL);
    pthread_barrier_wait(&all_hold);
  } else if (strcmp(mode, "fork") == 0) {
    await_control_thread();
    const pid_t child = fork();
    if (child == 0) {
      hold_some();
      wait_for_end();
      _exit(0);
    }
    printf("ready\n%d\n", (int)child);
    fflush(stdout);
    wait_for_end();
    return waitpid(child, NULL, 0) == child ? 0 : 1;
  } else if (strcmp(mode, "closes") == 0) {
    await_control_thread();
    for (int file = 3; file < 4096; ++file) close(file);
    /* Of a number that snug's file had, this is another file by now. */
    for (int i = 0; i < 600; ++i) dup(2);
    const pid_t child = fork();
    if (child == 0) {
      hold_some();
      for (int file = 3; file < 603; ++file)
        if (fcntl(file, F_GETFD) < 0) _exit(1);
      _exit(0);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  } else if (strcmp(mode, "leaves") == 0) {
    await_control_thread();
    pthread_create(&thread, NULL, end_with_input, NULL);
    pthread_exit(NULL);
  } else if (strcmp(mode, "fakes") == 0) {
    const int file = memfd_create("snug-control", 0);
    if (write(file, "SNUGCTL1\1\0\0\0", 12) != 12) return 2;
  } else {
    return 2;
  }
  puts("ready");
  fflush(stdout);
  wait_for_end();
  return 0;
}
