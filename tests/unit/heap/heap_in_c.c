/* heap_in_c.c: snug/heap.h in C: every function is called as its header says. Returns 0, or the line that is wrong. */
#include <errno.h>
#include <snug/heap.h>
#include <string.h>

int heap_in_c(void);

static int count_block(void* argument, void* block, size_t bytes) {
  (void)block;
  *(size_t*)argument += bytes;
  return 0;
}

#define DEMAND(condition) \
  if (!(condition)) return __LINE__

int heap_in_c(void) {
  const struct snug_heap_options options = {.size = sizeof options, .name = "in C", .limit = 1 << 24};
  snug_heap* heap = snug_heap_create(&options);
  DEMAND(heap != NULL);
  DEMAND(strcmp(snug_heap_name(heap), "in C") == 0);
  char* text = snug_heap_malloc(heap, 100);
  DEMAND(text != NULL && snug_heap_of(text) == heap);
  strcpy(text, "kept");
  text = snug_heap_realloc(heap, text, 5000);
  DEMAND(text != NULL && strcmp(text, "kept") == 0);
  int* numbers = snug_heap_calloc(heap, 10, sizeof *numbers);
  DEMAND(numbers != NULL && numbers[9] == 0);
  void* line = snug_heap_aligned_alloc(heap, 64, 64);
  DEMAND(line != NULL);
  void* batch[10];
  DEMAND(snug_heap_malloc_batch(heap, 32, batch, 10) == 10);
  struct snug_heap_stats stats;
  DEMAND(snug_heap_get_stats(heap, &stats) == 0 && stats.blocks_in_use == 13 && stats.limit == 1 << 24);
  size_t visited = 0;
  DEMAND(snug_heap_visit(heap, count_block, &visited) == 0 && visited >= stats.bytes_in_use);
  snug_free_batch(batch, 10);
  snug_free(line);
  (void)snug_heap_trim(heap);
  errno = 0;
  DEMAND(snug_heap_malloc(heap, 1 << 25) == NULL && errno == ENOMEM);
  DEMAND(snug_heap_destroy(heap) == 0); /* text and numbers are gone with it */
  DEMAND(snug_heap_destroy(NULL) == 0);
  return 0;
}
