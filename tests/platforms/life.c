/* life.c: what a program does that takes part in libc's own life: threads that end in every way, blocks that other
 * threads and destructors free, forks beside threads, libraries that come and go, streams that allocate.
 *
 * Usage: life [PLUGIN] [alone]. With `alone` the children of forks start no threads, which qemu-user 7.2 dies of.
 * Prints "lived" if every block was whole and snug's own count says that snug served. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snug/snug.h"

__attribute__((weak)) int snug_get_stats(struct snug_stats* stats);

enum { kThreads = 64, kBlocks = 500, kForks = 40, kOpenings = 20 };

static pthread_key_t key;
static void* handed_on[kThreads][kBlocks];

static size_t size_of(int i) { return (size_t)i * 131 % 40000 + 1; }

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "life: %s\n", what);
  _exit(1);
}

static void* filled(int i) {
  void* block = malloc(size_of(i));
  expect(block != NULL, "malloc refused");
  return memset(block, i, size_of(i));
}

static void free_whole(int i, void* block) {
  const unsigned char* bytes = block;
  const size_t size = size_of(i);
  for (size_t at = 0; at < size; ++at) expect(bytes[at] == (unsigned char)i, "a block was damaged");
  free(block);
}

/* Runs at the end of each thread, behind the heap's own end perhaps. */
static void at_end(void* block) {
  free(block);
  free(malloc(300));
}

static void* work(void* argument) {
  const int number = (int)(size_t)argument;
  pthread_setspecific(key, malloc(100));
  for (int i = 0; i < kBlocks; ++i) handed_on[number][i] = filled(i);
  if (number % 3 == 0) pthread_exit(argument);
  if (number % 3 == 1) {
    pthread_cancel(pthread_self());
    for (;;) pause();
  }
  return argument;
}

static void run_threads(void) {
  pthread_t threads[kThreads];
  pthread_key_create(&key, at_end);
  for (size_t i = 0; i < kThreads; ++i)
    expect(pthread_create(&threads[i], NULL, work, (void*)i) == 0, "no thread could be created");
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int number = 0; number < kThreads; ++number)
    for (int i = 0; i < kBlocks; ++i) free_whole(i, handed_on[number][i]);
}

static volatile int is_over;

static void* allocate_for_ever(void* unused) {
  for (int i = 0; !is_over; ++i) free_whole(i % kBlocks, filled(i % kBlocks));
  return unused;
}

static void run_forks(int are_alone) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, allocate_for_ever, NULL);
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    expect(child >= 0, "fork failed");
    if (child == 0) {
      pthread_t thread;
      for (int j = 0; j < kBlocks; ++j) free_whole(j, filled(j));
      if (are_alone) _exit(0);
      expect(pthread_create(&thread, NULL, work, (void*)2) == 0, "no thread in the child");
      pthread_join(thread, NULL);
      for (int j = 0; j < kBlocks; ++j) free_whole(j, handed_on[2][j]);
      _exit(0);
    }
    int status = 1;
    expect(waitpid(child, &status, 0) == child && status == 0, "a child ended badly");
  }
  is_over = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static void run_plugin(const char* path) {
  for (int i = 0; i < kOpenings; ++i) {
    void* plugin = dlopen(path, RTLD_NOW);
    expect(plugin != NULL, "the plugin could not be opened");
    char* (*const text)(void) = (char* (*)(void))dlsym(plugin, "plugin_text");
    char* copy = text();
    dlclose(plugin);
    expect(strcmp(copy, "of the plugin") == 0, "the plugin's text was damaged");
    free(copy);
  }
}

static void run_streams(void) {
  char* line = NULL;
  size_t room = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  expect(maps != NULL, "no stream could be opened");
  while (getline(&line, &room, maps) > 0) continue;
  fclose(maps);
  free(line);
  expect(asprintf(&line, "%d", 7) == 1, "asprintf failed");
  free(line);
}

int main(int count, char** words) {
  struct snug_stats before, after;
  expect(snug_get_stats != NULL && snug_get_stats(&before) == 0, "snug does not serve this process");
  run_threads();
  run_forks(count > 1 && strcmp(words[count - 1], "alone") == 0);
  if (count > 1 && words[1][0] == '/') run_plugin(words[1]);
  run_streams();
  snug_get_stats(&after);
  expect(after.allocations - before.allocations > kThreads * kBlocks, "snug has not served all of it");
  puts("lived");
  return 0;
}
