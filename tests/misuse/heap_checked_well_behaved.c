/* EXPECT exit with check:on:
 * heap_checked_well_behaved.c: what rests in the quarantine is not in use where a heap asks for its blocks, or for
 * room. */
#include "misuse.h"
#include "snug/heap.h"

static int count_block(void* count, void* block, size_t bytes) {
  (void)block;
  *(size_t*)count += bytes;
  return 0;
}

/* Freed blocks are none for a heap that has to be empty, and for a visit. */
static int ends_empty(void) {
  struct snug_heap_options options = {.size = sizeof options, .flags = SNUG_HEAP_MUST_BE_EMPTY};
  snug_heap* heap = snug_heap_create(&options);
  void* small = snug_heap_malloc(heap, 100);
  void* large = snug_heap_malloc(heap, 1 << 20);
  size_t visited = 0;
  if (snug_heap_visit(heap, count_block, &visited) != 0 || visited != 100 + (1 << 20)) return 1;
  snug_free(large);
  if (snug_heap_destroy(heap) == 0) return 2;
  visited = 0;
  if (snug_heap_visit(heap, count_block, &visited) != 0 || visited != 100) return 3;
  snug_free(small);
  return snug_heap_destroy(heap);
}

/* A limit is not used up by what rests. */
static int keeps_its_limit(void) {
  struct snug_heap_options options = {.size = sizeof options, .limit = 1 << 20};
  snug_heap* heap = snug_heap_create(&options);
  for (int i = 0; i < 20000; ++i) {
    void* block = snug_heap_malloc(heap, i % 2 == 0 ? 5000 : 300000);
    if (block == NULL) return 1;
    snug_free(block);
  }
  void* block = snug_heap_malloc(heap, 400000);
  if (block == NULL || snug_heap_realloc(heap, block, 500000) == NULL) return 2;
  return snug_heap_destroy(heap);
}

/* Destroyed heaps rest with their blocks, and serve again. */
static int leaves_nothing(void) {
  for (int i = 0; i < 20000; ++i) {
    snug_heap* heap = snug_heap_create(NULL);
    if (i % 3 != 0 && snug_heap_malloc(heap, 1000) == NULL) return 1;
    if (i % 500 == 1 && snug_heap_malloc(heap, 1 << 21) == NULL) return 2;
    if (i % 500 == 2 && snug_heap_malloc(heap, 1 << 22) == NULL) return 3; /* too long to rest */
    if (snug_heap_destroy(heap) != 0) return 4;
  }
  struct snug_stats stats;
  snug_get_stats(&stats);
  if (stats.bytes_in_slabs > 64 << 20) return 5;
  return snug_check(1) != NULL;
}

int main(void) {
  int wrong = ends_empty();
  if (wrong == 0) wrong = 10 * keeps_its_limit();
  if (wrong == 0) wrong = 20 * leaves_nothing();
  return wrong;
}
