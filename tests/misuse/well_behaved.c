/* EXPECT exit:
 * well_behaved.c: allocates, frees and exits. Not a word on stderr, unless SNUG_CONF gives cause: the tests of bad
 * configurations run this program. With the argument "keys" it prints the configuration's keys and units. */
#define _GNU_SOURCE
#include "misuse.h"

#include <dlfcn.h>
#include <snug/snug.h>
#include <sys/wait.h>

int main(int argc, char** argv) {
  Dl_info info;
  if (!dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) || !strstr(info.dli_fname, "libsnug")) return 3;
  for (size_t size = 1; size < 1000000; size = size * 3 / 2 + 1) free(hidden(malloc(size)));
  if (argc == 1) {
    /* A forked child has been told already. */
    const pid_t pid = fork();
    if (pid == 0) {
      free(hidden(malloc(100)));
      _exit(0);
    }
    int status = 1;
    return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
  }
  int (*config_get)(size_t, struct snug_config_entry*);
  *(void**)&config_get = dlsym(RTLD_DEFAULT, "snug_config_get");
  if (strcmp(argv[1], "keys") != 0 || !config_get) return 4;
  struct snug_config_entry entry;
  for (size_t i = 0; config_get(i, &entry) == 0; ++i) {
    if (!entry.key || !entry.unit || !entry.default_value || !entry.value || !entry.origin || !entry.help ||
        !*entry.help)
      return 5;
    printf("%s\t%s\t%s\t%s\t%s\n", entry.key, entry.unit, entry.default_value, entry.value, entry.origin);
  }
  return 0;
}
