/* EXPECT exit:
 * real_time_well_behaved.c: threads with deadlines come, exchange blocks with ordinary ones, and go. */
#include <pthread.h>

#include "misuse.h"
#include "snug/realtime.h"

enum { kBlocks = 1000 };
static void* blocks[kBlocks];

static void* work(void* part) {
  if (part != NULL && snug_realtime_enter((size_t)part) != 0) _exit(1);
  for (int i = 0; i < kBlocks; ++i) {
    free(blocks[i]);
    blocks[i] = calloc(1, (size_t)i * 3 + 1);
    blocks[i] = realloc(blocks[i], (size_t)i * 4 + 1);
    if (blocks[i] == NULL || malloc_usable_size(blocks[i]) < (size_t)i * 4 + 1) _exit(2);
  }
  return NULL;
}

int main(void) {
  if (snug_realtime_begin(64 << 20) != 0) return 1;
  for (int life = 0; life < 20; ++life) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, life % 3 == 0 ? NULL : (void*)(16 << 20));
    pthread_join(thread, NULL);
    if (snug_check(1) != NULL) return 2;
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  return 0;
}
