/* static.c: a program that is linked statically with the library as one file: whether a thread begins, and whether snug
 * has served its malloc. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "snug.h"

static void* allocate(void* bytes) { return malloc((size_t)bytes); }

int main(void) {
  struct snug_stats before, after;
  snug_get_stats(&before);
  pthread_t thread;
  const int error = pthread_create(&thread, NULL, allocate, (void*)1000);
  void* block = NULL;
  if (error == 0) pthread_join(thread, &block);
  snug_get_stats(&after);
  printf("malloc %d thread %d\n", block != NULL && after.allocations > before.allocations, error);
  free(block);
  return 0;
}
