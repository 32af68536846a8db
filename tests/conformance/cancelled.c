/* cancelled.c: threads that are to be cancelled call the allocator, which must have no cancellation point: a thread
 * that ended inside it would leave its locks held. Other threads begin and end meanwhile, so that a fork has to wait.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 1000 };

static int ends;
static FILE* null;

static void* short_lived(void* unused) {
  free(malloc(100));
  return unused;
}

static void* to_be_cancelled(void* unused) {
  pthread_t other;
  const int others = pthread_create(&other, NULL, short_lived, NULL) == 0;
  pthread_cancel(pthread_self());
  free(malloc(100));
  free(malloc(10 << 20));
  malloc_stats();
  malloc_info(0, null);
  malloc_trim(0);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ++ends;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  waitpid(child, NULL, 0);
  if (others) pthread_join(other, NULL);
  return unused;
}

int main(void) {
  null = fopen("/dev/null", "w");
  if (null == NULL || freopen("/dev/null", "w", stderr) == NULL) return 1;
  setvbuf(null, NULL, _IONBF, 0);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, to_be_cancelled, NULL) != 0) return 2;
    pthread_join(thread, NULL);
  }
  printf("reached the end %d times\n", ends);
  return 0;
}
