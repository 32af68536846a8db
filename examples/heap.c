/* A heap of one's own: what a request needs, gone in one call. */
#include <stdio.h>
#include <string.h>

#include "snug/heap.h"

static int serve(const char* words) {
  struct snug_heap_options options = {.size = sizeof options, .name = "request", .limit = 1 << 20};
  snug_heap* request = snug_heap_create(&options);
  if (request == NULL) return 1;
  char* copy = snug_heap_malloc(request, strlen(words) + 1);
  size_t* lengths = snug_heap_calloc(request, 100, sizeof *lengths);
  size_t count = 0;
  if (copy != NULL && lengths != NULL) {
    strcpy(copy, words);
    for (char* word = strtok(copy, " "); word != NULL && count < 100; word = strtok(NULL, " "))
      lengths[count++] = strlen(word);
  }
  struct snug_heap_stats stats;
  snug_heap_get_stats(request, &stats);
  printf("%s: %zu words, %d blocks\n", snug_heap_name(request), count, (int)stats.blocks_in_use);
  snug_heap_destroy(request); /* copy and lengths are gone with it */
  return count == 0;
}

int main(void) { return serve("one heap for each request") || serve("and its memory goes back"); }
