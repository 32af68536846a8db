/* early_fork_handler.c: a library that is initialised before the allocator. Its fork handler ends its worker thread, as
 * those of numerical libraries do: it waits for a thread that allocates, and that gives its cache back when it ends. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ends;
static pthread_t worker;

static void* work(void* unused) {
  (void)unused;
  void* blocks[1000];
  pthread_mutex_lock(&lock);
  while (!ends) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  for (size_t i = 0; i < 1000; ++i) blocks[i] = malloc(i * 70 + 1);
  for (size_t i = 0; i < 1000; ++i) free(blocks[i]);
  return NULL;
}

static void end_worker(void) {
  pthread_mutex_lock(&lock);
  ends = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(worker, NULL);
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(end_worker, NULL, NULL); }

void start_worker(void) {
  ends = 0;
  pthread_create(&worker, NULL, work, NULL);
}
