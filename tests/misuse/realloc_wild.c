/* EXPECT abort: snug: realloc\({address}\): not a block of this heap
 * realloc_wild.c: a non-canonical address is given to realloc. */
#include "misuse.h"

int main(void) {
  void* wild = (void*)(uintptr_t)0xdeadbeefdeadbeefu;
  announce(wild);
  return hidden(realloc(hidden(wild), 100)) == NULL;
}
