/* dlopen_probe.c: a plain program that loads libsnug.so late and locally, as a plug-in would.
 *
 * Its thread-local storage is initial-exec, so it must fit the surplus that the loader keeps for such libraries; and
 * snug's heap must live beside glibc's in one process. Usage: dlopen_probe PATH
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* (*snug_malloc)(size_t);
static void (*snug_free)(void*);

static void* exercise(void* argument) {
  for (size_t size = 1; size < 3000000; size = size * 3 / 2 + 1) {
    char* block = snug_malloc(size);
    char* other = malloc(size);
    if (!block || !other) return argument;
    memset(block, 1, size);
    memset(other, 2, size);
    if (block[size - 1] != 1 || other[0] != 2) return argument;
    free(other);
    snug_free(block);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "dlopen: %s\n", dlerror());
    return 1;
  }
  *(void**)&snug_malloc = dlsym(library, "snug_malloc");
  *(void**)&snug_free = dlsym(library, "snug_free");
  if (!snug_malloc || !snug_free) return 2;
  Dl_info info;
  if (!dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) || !strstr(info.dli_fname, "libc.so")) return 3;
  char mark;
  if (exercise(&mark)) return 4;
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i)
    if (pthread_create(&threads[i], NULL, exercise, &mark)) return 5;
  for (int i = 0; i < 8; ++i) {
    void* failed = NULL;
    pthread_join(threads[i], &failed);
    if (failed) return 6;
  }
  puts("served");
  return 0;
}
