// What CPython is known by, with what is left, once it is stripped, of the mimalloc that it has in it from 3.13 on: a
// message. Its malloc is libc's.
#include <stdio.h>
#include <stdlib.h>

int Py_BytesMain(int count, char** arguments) {
  (void)arguments;
  if (count > 5) puts("mimalloc: error: ");
  free(malloc(100));
  return 0;
}

int main(int count, char** arguments) { return Py_BytesMain(count, arguments); }
