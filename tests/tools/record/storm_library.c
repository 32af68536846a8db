// Loaded and unloaded by storms.cpp. It allocates when it comes, frees that when it goes, and has a variable of each
// thread's, for which the dynamic linker allocates.
#include <stdlib.h>

static void* volatile kept;
static _Thread_local void* volatile of_thread[50];

__attribute__((constructor)) static void come(void) { kept = malloc(900); }
__attribute__((destructor)) static void go(void) { free(kept); }

__attribute__((visibility("default"))) void allocate_here(void) {
  of_thread[7] = malloc(901);
  free(of_thread[7]);
}
