/* late_dlopen.c: a program changes its environment, so that libc keeps it in memory of its own, and then loads the
 * library: behind that array lies nothing of what the kernel told the program. Usage: late_dlopen LIBRARY.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
  if (count != 2) return 2;
  char name[] = "A0";
  for (int i = 0; i < 2; ++i) {
    name[1] = (char)('0' + i);
    setenv(name, "b", 1);
  }
  setenv("C", "d", count == 2); /* an even and an odd number of variables, by the caller's own */
  void* library = dlopen(words[1], RTLD_NOW);
  if (library == NULL) return printf("%s\n", dlerror()), 1;
  void* (*const allocate)(size_t) = (void* (*)(size_t))dlsym(library, "snug_malloc");
  puts(allocate != NULL && allocate(100) != NULL ? "served" : "not served");
  return 0;
}
