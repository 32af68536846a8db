// A program with a function that is chosen when it starts. Its resolver runs when all libraries have their addresses,
// and before the first thread's variables have been set for good.
#include <stdlib.h>

int library_answer(void);
void library_free(void);

static void* kept;

static int answer(void) { return 42; }

static int (*resolve(void))(void) {
  kept = malloc(4001);
  return answer;
}

int program_answer(void) __attribute__((ifunc("resolve")));

int main(void) {
  const int is_right = program_answer() == 42 && library_answer() == 42 && kept != NULL;
  free(kept);
  library_free();
  return is_right ? 0 : 1;
}
