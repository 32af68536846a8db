// All that is left of a jemalloc after its symbols were stripped: what it would print.
#include <stdio.h>

int main(int count, char** arguments) {
  (void)arguments;
  if (count > 5) puts("<jemalloc>: Error initializing");
  return 0;
}
