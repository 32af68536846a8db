/* plain_c.c: a C program under preload. libsnug.so must not bring a C++ runtime into it.
 *
 * Prints the name of the object that serves malloc, and fails if a mapping of libstdc++, libc++ or libgcc_s appears.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  for (int i = 0; i < 1000; ++i) {
    char* block = malloc((size_t)i * 37);
    if (!block) return 1;
    memset(block, 1, (size_t)i * 37);
    free(realloc(block, (size_t)i + 1));
  }
  Dl_info info;
  if (!dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info)) return 2;
  printf("malloc: %s\n", info.dli_fname);
  /* The lazy half of the C++ runtime would come with the first thread or the first exit handler at the latest. */
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int found = 0;
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, "libstdc++") || strstr(line, "libc++") || strstr(line, "libgcc_s")) {
      fputs(line, stderr);
      found = 1;
    }
  if (!maps) return 3;
  fclose(maps);
  return found ? 4 : 0;
}
