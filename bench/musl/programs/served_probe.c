// Does the library that is named, and was preloaded, serve this program's malloc, and work? For musl what
// harness/snug_bench/served_probe.py is for glibc: prints "served" and nothing else if so, and else one line.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* const kFamily[] = {
    "malloc", "free", "calloc", "realloc", "aligned_alloc", "posix_memalign", "malloc_usable_size"};
static const size_t kSizes[] = {0, 1, 16, 100, 1000, 5000, 40000, 300000, 3000000};
enum { kThreads = 4, kRounds = 50, kCount = sizeof kSizes / sizeof *kSizes };

static void refuse(const char* what, const char* where) {
  printf("%s %s\n", what, where);
  exit(1);
}

// Fills a block of each size, makes each longer, and reads them back.
static void* use(void* argument) {
  for (int round = 0; round != kRounds; ++round) {
    unsigned char* blocks[kCount];
    for (size_t i = 0; i != kCount; ++i) {
      blocks[i] = malloc(kSizes[i]);
      if (blocks[i] == NULL && kSizes[i] != 0) return "no memory";
      memset(blocks[i], (int)i, kSizes[i]);
    }
    for (size_t i = 0; i != kCount; ++i) {
      unsigned char* const longer = realloc(blocks[i], kSizes[i] + 100);
      if (longer == NULL) return "no memory";
      for (size_t at = 0; at != kSizes[i]; ++at)
        if (longer[at] != i) return "a block that was resized has lost what was in it";
      free(longer);
    }
  }
  return argument;
}

int main(int count, char** words) {
  char path[4096];
  if (count != 2 || realpath(words[1], path) == NULL) refuse("usage: served_probe", "LIBRARY");
  for (size_t i = 0; i != sizeof kFamily / sizeof *kFamily; ++i) {
    Dl_info found;
    char from[4096];
    void* const symbol = dlsym(RTLD_DEFAULT, kFamily[i]);
    if (symbol == NULL || dladdr(symbol, &found) == 0) refuse(kFamily[i], "is nowhere");
    if (realpath(found.dli_fname, from) == NULL || strcmp(from, path) != 0) refuse(kFamily[i], "is another library's");
  }
  pthread_t threads[kThreads];
  for (int i = 0; i != kThreads; ++i)
    if (pthread_create(&threads[i], NULL, use, NULL) != 0) refuse("no thread", "begins");
  for (int i = 0; i != kThreads; ++i) {
    void* wrong;
    pthread_join(threads[i], &wrong);
    if (wrong != NULL) refuse("in a thread:", wrong);
  }
  const pid_t child = fork();
  if (child == 0) _exit(use(NULL) != NULL);
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) refuse("a fork's child", "fails");
  puts("served");
  return 0;
}
