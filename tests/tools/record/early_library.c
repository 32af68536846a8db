// A library with a function that is chosen when the program starts. Its resolver runs before the recorder's addresses
// are set, since libraries that stand further back in the order of symbols are treated first.
#include <stdlib.h>

static void* kept;

static int answer(void) { return 42; }

static int (*resolve(void))(void) {
  kept = malloc(4002);
  return answer;
}

// Hidden, so that the library's own addresses are what it is resolved for.
__attribute__((visibility("hidden"))) int chosen(void) __attribute__((ifunc("resolve")));

int library_answer(void) { return chosen(); }

void library_free(void) { free(kept); }
