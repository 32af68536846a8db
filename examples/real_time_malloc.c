/* malloc with a worst case: a thread with deadlines, and another that frees what it made. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "snug/realtime.h"

static void* consume(void* message) {
  printf("%s\n", (char*)message);
  snug_free(message); /* back to the part of the thread that made it */
  return NULL;
}

static void* control(void* result) {
  if (snug_realtime_enter(4 << 20) != 0) return NULL; /* before deadlines count */
  for (int i = 0; i < 3; ++i) {
    char* message = snug_malloc(64);  /* no system call, no lock, no loop */
    if (message == NULL) return NULL; /* the part is full: nothing falls back on ordinary memory */
    snprintf(message, 64, "step %d", i);
    pthread_t reader;
    pthread_create(&reader, NULL, consume, message);
    pthread_join(reader, NULL);
  }
  return result; /* the thread's end gives the part back */
}

int main(void) {
  if (snug_realtime_begin(64 << 20) != 0) return 1;
  struct snug_realtime_stats stats = {.size = sizeof stats};
  snug_realtime_get_stats(&stats);
  if (!stats.locked) puts("not locked: the kernel may take pages away (ulimit -l)");
  pthread_t controller;
  void* done = NULL;
  pthread_create(&controller, NULL, control, &done);
  pthread_join(controller, &done);
  snug_realtime_get_stats(&stats);
  return done == NULL || stats.refusals != 0;
}
