/* addresses.c: blocks in each state that `snug inspect` tells. Prints "NAME ADDRESS SIZE" for each, then "ready", and
 * ends with its input. With "busy" three threads allocate and free meanwhile, in malloc and in heaps of their own, and
 * the addresses of that name stay live; with "forks" there is no thread, but a child that allocates. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named_thread.h"
#include "snug/heap.h"

enum { kOld = 4000, kBusy = 512, kSampled = 400 };

static snug_heap* (*heap_make)(const struct snug_heap_options*);
static void* (*heap_take)(snug_heap*, size_t);
static atomic_int is_sent;
static char in_data[64] = "data";

__attribute__((noinline)) static char* hold(size_t bytes) {
  char* block = malloc(bytes);
  if (block == NULL) abort();
  memset(block, 1, bytes);
  return block;
}

__attribute__((noinline)) static char* hold_sampled(void) { return hold(3000) + 0 * getpid(); }

static void say(const char* name, const void* address, size_t size) { printf("%s %p %zu\n", name, address, size); }

static void free_said(const char* name, void* block, size_t size) {
  say(name, block, size);
  free(block);
}

static void* free_in_thread(void* block) {
  free(hold(100));
  printf("freer 0x%x 0\n", (unsigned)gettid());
  free(block);
  atomic_store(&is_sent, 1);
  for (;;) pause();
  return NULL;
}

/* What is in a cache goes home some time, but not while its thread calls nothing. */
static int end_with_cached(char* cached) {
  free_said("cached", cached, 5000);
  printf("main 0x%x 0\nready\n", (unsigned)getpid());
  fflush(stdout);
  while (getchar() != EOF) continue;
  return 0;
}

static void* live_busily(void* nothing) {
  (void)nothing;
  snug_heap* heap = heap_make(NULL);
  void* blocks[kBusy] = {0};
  for (unsigned i = 0;; i = (i + 1) % kBusy) {
    free(blocks[i]);
    const size_t size = i % 64 == 63 ? 400000 : 16 + i * 37 % 3000;
    blocks[i] = i % 3 == 0 ? heap_take(heap, size) : malloc(size);
    if (blocks[i] == NULL) abort();
    *(volatile char*)blocks[i] = 1;
  }
  return NULL;
}

int main(int count, char** words) {
  heap_make = dlsym(RTLD_DEFAULT, "snug_heap_create");
  heap_take = dlsym(RTLD_DEFAULT, "snug_heap_malloc");
  if (heap_make == NULL || heap_take == NULL) return 2;
  char* live = hold(300);
  say("live", live, 300);
  /* So many that most of them go home to their slabs. */
  static char* old[kOld];
  for (int i = 0; i < kOld; ++i) old[i] = hold(1900);
  for (int i = 0; i < kOld; ++i)
    if (i == 1)
      free_said("free", old[i], 1900);
    else if (i % 8 != 0)
      free(old[i]);
  char* cached = hold(5000);
  hold(5000);
  say("run", hold(1 << 20), 1 << 20);
  say("mapping", hold(64 << 20), 64 << 20);
  const struct snug_heap_options options = {.size = sizeof options, .name = "tenant \"7\""};
  snug_heap* heap = heap_make(&options);
  say("heap_live", memset(heap_take(heap, 700), 1, 700), 700);
  void* heap_free = heap_take(heap, 900);
  free_said("heap_free", heap_free, 900);
  /* So many that the thread gets a cache of the heap. */
  for (int i = 0; i < 100; ++i) free(heap_take(heap, 1700));
  free_said("heap_cached", heap_take(heap, 1700), 1700);
  say("heap_large", memset(heap_take(heap, 2 << 20), 1, 2 << 20), 2 << 20);
  say("data", in_data, 0);
  say("stack", &heap, 0);
  say("code", (void*)(uintptr_t)&main, 0);
  for (int i = 0; i < kSampled; ++i) say("sampled", hold_sampled(), 3000);
  char* gone = hold(40 << 20);
  free_said("kept", gone, 40 << 20);
  char* pages = hold(3 << 20);
  free_said("kept_pages", pages, 3 << 20);
  char* sent = hold(7000);
  say("sent", sent, 7000);
  if (count > 1 && strcmp(words[1], "forks") == 0) {
    while (!has_thread_named("snug-control")) usleep(1000); /* its file is there before its name */
    fflush(stdout);
    const pid_t child = fork();
    if (child != 0) return waitpid(child, NULL, 0) == child ? 0 : 1;
    for (int i = 0; i < 1000; ++i) hold(10000);
    return end_with_cached(cached);
  }
  if (count > 1) {
    pthread_t busy;
    for (int i = 0; i < 3; ++i) pthread_create(&busy, NULL, live_busily, NULL);
    for (int i = 0; i < 64; ++i) say("busy", hold(16 + (size_t)i * 53), 0);
  }
  pthread_t thread;
  pthread_create(&thread, NULL, free_in_thread, sent);
  while (atomic_load(&is_sent) == 0) usleep(1000);
  return end_with_cached(cached);
}
