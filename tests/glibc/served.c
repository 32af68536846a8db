/* served.c: proves which allocator serves malloc in the program that this is linked into.
 *
 * Before main, appends a line to the file that SERVED_BY names: how many of 100 allocations snug's own statistics have
 * counted, and the library that malloc comes from. Nothing if there is no SERVED_BY.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <snug/snug.h>

static uint64_t counted(void) {
  int (*get_stats)(struct snug_stats*);
  *(void**)&get_stats = dlsym(RTLD_DEFAULT, "snug_get_stats");
  struct snug_stats stats = {0};
  return get_stats && get_stats(&stats) == 0 ? stats.allocations : 0;
}

__attribute__((constructor)) static void say_who_serves(void) {
  const char* path = getenv("SERVED_BY");
  if (!path) return;
  const uint64_t before = counted();
  for (size_t i = 0; i < 100; ++i) free(malloc(i + 1));
  const uint64_t by_snug = counted() - before;
  Dl_info info;
  if (!dladdr((void*)&malloc, &info)) info.dli_fname = "?";
  char line[4096];
  const int length = snprintf(line, sizeof line, "%llu %s\n", (unsigned long long)by_snug, info.dli_fname);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || write(file, line, (size_t)length) != length) abort();
  close(file);
}
