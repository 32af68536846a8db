/* interposed.c: what a program does that runs under interposer.c: small blocks and large ones, one that grows, threads
 * that begin and end, forks of one thread and of many, a trim. Prints `done`. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBlocks = 5000, kThreads = 4, kRounds = 20 };

static void allocate_some(void) {
  void* blocks[kBlocks];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc((size_t)(1 + i % 3000));
    for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  }
  char* block = NULL;
  for (size_t size = 1000; size < (16u << 20); size = size * 3 / 2) {
    block = realloc(block, size);
    if (block == NULL) exit(2);
    memset(block, 1, size);
  }
  free(block);
}

static void* work(void* unused) {
  allocate_some();
  return unused;
}

static void fork_and_wait(void) {
  const pid_t child = fork();
  if (child == 0) {
    allocate_some();
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(3);
}

int main(void) {
  allocate_some();
  fork_and_wait();
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 4;
  allocate_some();
  fork_and_wait();
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  malloc_trim(0);
  puts("done");
  return 0;
}
