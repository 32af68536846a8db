/* profiled.c [first]: does what the lines of its input say, and answers each with a number; ends with its input.
 *
 *   hold N   takes N MiB more, in blocks of 64 KiB
 *   free     gives all of it back
 *   catch    counts SIGUSR2 by a handler of its own from now on; "first": that happens before its first malloc
 *   said     how often that has been called
 *   fork N   a child takes N MiB and ends by exit(); its number
 *   churn    three threads allocate and free from now on
 *
 * With SNUG_ARCHIVE its malloc is libsnug.a's.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef SNUG_ARCHIVE
#include "snug/snug.h"
#define malloc snug_malloc
#define free snug_free
#endif

enum { kMost = 16384, kBlock = 1 << 16 };

static char* held[kMost];
static int count;
static atomic_int caught;

__attribute__((noinline)) static void grow(int mib) {
  for (int i = 0; i < mib << 4 && count < kMost; ++i) {
    char* block = malloc(kBlock - 64);
    if (block == NULL) abort();
    memset(block, 1, kBlock - 64);
    held[count++] = block;
  }
}

static void catch (int signal) {
  (void)signal;
  atomic_fetch_add(&caught, 1);
}

static void catch_signal(void) {
  struct sigaction action = {.sa_handler = catch, .sa_flags = SA_RESTART};
  sigaction(SIGUSR2, &action, NULL);
}

static void* churn(void* nothing) {
  char* blocks[256] = {0};
  for (unsigned i = 0;; ++i) {
    char** place = &blocks[i * 7 % 256];
    free(*place);
    *place = malloc(16 + i * 31 % 9000);
    if (*place == NULL) abort();
    **place = 1;
  }
  return nothing;
}

int main(int words, char** word) {
  (void)word;
  if (words > 1) catch_signal();
  grow(0);
  free(malloc(1));
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const int number = strchr(line, ' ') != NULL ? atoi(strchr(line, ' ')) : 0;
    int answer = 0;
    if (strncmp(line, "hold", 4) == 0) {
      grow(number);
    } else if (strncmp(line, "free", 4) == 0) {
      while (count != 0) free(held[--count]);
    } else if (strncmp(line, "catch", 5) == 0) {
      catch_signal();
    } else if (strncmp(line, "said", 4) == 0) {
      answer = atomic_load(&caught);
    } else if (strncmp(line, "churn", 5) == 0) {
      pthread_t thread;
      for (int i = 0; i < 3; ++i) pthread_create(&thread, NULL, churn, NULL);
    } else if (strncmp(line, "fork", 4) == 0) {
      answer = (int)fork();
      if (answer == 0) {
        grow(number);
        exit(0);
      }
      waitpid(answer, NULL, 0);
    } else {
      return 2;
    }
    printf("%d\n", answer);
    fflush(stdout);
  }
  return 0;
}
