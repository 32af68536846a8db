/* traced: what is written in the trace of it is known. With "threads": many events of several threads. With "fork": a
 * child and a program that it executes allocate as well. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sizes that nothing else in the process asks for. */
static void known(void) {
  void* aligned = NULL;
  void* const block = malloc(70001);
  void* const zeroed = calloc(7, 10007);
  void* const longer = realloc(block, 70003);
  free(zeroed);
  free(NULL);
  free(realloc(NULL, 70004));
  free(memalign(64, 70005));
  free(aligned_alloc(64, 70016));
  if (posix_memalign(&aligned, 64, 70007) == 0) free(aligned);
  if (posix_memalign(&aligned, 63, 70008) == 0) abort();
  if (realloc(longer, 0) != NULL) abort();
  const volatile size_t much = (size_t)-1 / 2;
  if (malloc(much) != NULL || calloc(much, 4) != NULL) abort();
}

static void* churn(void* seed) {
  unsigned state = (unsigned)(size_t)seed;
  void* blocks[64] = {NULL};
  for (int i = 0; i < 20000; ++i) {
    state = state * 1103515245u + 12345u;
    void** const block = &blocks[state >> 16 & 63];
    if (state & 0x100) {
      free(*block);
      *block = malloc(state >> 20 & 1023);
    } else {
      void* const moved = realloc(*block, 1 + (state >> 20 & 1023));
      if (moved != NULL) *block = moved;
    }
  }
  for (int i = 0; i < 64; ++i) free(blocks[i]);
  return NULL;
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "threads") == 0) {
    pthread_t threads[4];
    for (size_t i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, churn, (void*)(i + 1));
    for (size_t i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    return 0;
  }
  if (strcmp(what, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      free(malloc(80001));
      execl(argv[0], argv[0], "child", (char*)NULL);
      _exit(1);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) return 1;
  }
  if (strcmp(what, "child") == 0) free(malloc(80002));
  known();
  if (strcmp(what, "_exit") == 0) _exit(0);
  return 0;
}
