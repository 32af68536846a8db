/* limit_launcher.c: runs a program under a limited address space. Usage: limit_launcher MEBIBYTES PRELOAD PROGRAM ARGS…
 *
 * The limit is set before the program starts, so that the library meets it from its first reservation on. PRELOAD may
 * be "-" for none.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  struct rlimit limit = {.rlim_cur = strtoul(argv[1], NULL, 10) << 20, .rlim_max = strtoul(argv[1], NULL, 10) << 20};
  if (strcmp(argv[2], "-") != 0) setenv("LD_PRELOAD", argv[2], 1);
  if (setrlimit(RLIMIT_AS, &limit) != 0) {
    perror("setrlimit");
    return 65;
  }
  execv(argv[3], argv + 3);
  perror(argv[3]);
  return 66;
}
