/* small_stack.c: how much of a thread's stack the calls of snug take, beyond what a thread takes that does nothing.
 * Each kind of call is made by a new thread, on a stack that was painted before. What PTHREAD_STACK_MIN leaves, 16 KiB
 * less the thread's own part and a frame of the dynamic linker's, must suffice. */
#include <limits.h>
#include <pthread.h>
#include <snug/heap.h>
#include <snug/limits.h>
#include <snug/snug.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kStack = 512 * 1024, kPaint = 0xA5, kBlocks = 20000, kMost = 7 * 1024 };

static unsigned char* stack;
static void* blocks[kBlocks];

static void nothing(void) {}
static void small(void) {
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc((size_t)i % 3000);
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}
static void large(void) {
  for (size_t i = 0; i < 60; ++i) blocks[i] = calloc(1, 100000 + i * 100000);
  for (size_t i = 0; i < 60; ++i) blocks[i] = realloc(blocks[i], 200000 + i * 150000);
  for (size_t i = 0; i < 60; ++i) free(blocks[i]);
}
static void aligned(void) {
  for (size_t i = 0; i < 300; ++i) blocks[i] = aligned_alloc((size_t)64 << i % 12, i * 3000 + 1);
  for (size_t i = 0; i < 300; ++i) free(blocks[i]);
}
static void heaps(void) {
  snug_heap* const heap = snug_heap_create(NULL);
  for (size_t i = 0; i < 300; ++i) snug_heap_malloc(heap, i * 3000);
  snug_heap_destroy(heap);
}
static void trim(void) { snug_malloc_trim(0); }
static void set(void) { snug_set("limit:auto,soft_limit:auto"); }
static void statistics(void) {
  struct snug_stats stats;
  snug_get_stats(&stats);
}
/* Last, as what was refused once may be looked at again. */
static void at_limit(void) {
  snug_set("limit:200M");
  int count = 0;
  while (count < kBlocks && (blocks[count] = malloc(5000000)) != NULL) ++count;
  while (count != 0) free(blocks[--count]);
  snug_set("limit:auto");
}

static void* run(void* function) {
  ((void (*)(void))function)();
  return NULL;
}

/* Bytes of its stack that a thread has written to that calls the function. */
static size_t depth_of(void (*function)(void)) {
  memset(stack, kPaint, kStack);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kStack);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run, (void*)function) != 0) exit(2);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  size_t untouched = 0;
  while (untouched != kStack && stack[untouched] == kPaint) ++untouched;
  return kStack - untouched;
}

int main(void) {
  const struct {
    const char* name;
    void (*function)(void);
  } calls[] = {{"small", small}, {"large", large}, {"aligned", aligned},       {"heaps", heaps},
               {"trim", trim},   {"set", set},     {"statistics", statistics}, {"at_limit", at_limit}};
  stack = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return 2;
  depth_of(nothing);
  const size_t least = depth_of(nothing);
  int too_deep = 0;
  for (size_t i = 0; i != sizeof calls / sizeof *calls; ++i) {
    const size_t depth = depth_of(calls[i].function) - least;
    printf("%s: %zu bytes%s\n", calls[i].name, depth, depth > kMost ? ", too many" : "");
    too_deep += depth > kMost;
  }
  return too_deep != 0;
}
