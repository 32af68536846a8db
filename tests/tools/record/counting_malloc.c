// An allocator that counts, independently of the recorder: glibc's, behind functions that add up what they were asked
// for. The sums lie in a file that is mapped, $COUNTS.PROCESS.N, so that they survive whatever ends the process; N
// counts the programs that the process has executed.
//
// With $HANDS_ON it gives a block that one thread has just freed to the next one that asks, and lets that one go first:
// whoever tells of the free too late then tells of it behind the block's next coming.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void* __libc_valloc(size_t bytes);
void* __libc_pvalloc(size_t bytes);
void __libc_free(void* block);

enum { MALLOC, CALLOC, REALLOC, REALLOCARRAY, ALIGNED_ALLOC, MEMALIGN, POSIX_MEMALIGN, VALLOC, PVALLOC, FREE, KINDS };

struct sums {
  atomic_ullong calls[KINDS];
  atomic_ullong bytes[KINDS];
};

static struct sums before_there_is_a_file;
static struct sums* _Atomic sums = &before_there_is_a_file;

static void count(int kind, size_t bytes) {
  struct sums* const into = atomic_load(&sums);
  atomic_fetch_add(&into->calls[kind], 1);
  atomic_fetch_add(&into->bytes[kind], bytes);
}

static atomic_bool hands_on;
static void* _Atomic handed;

static void* take_handed(size_t bytes) {
  if (!atomic_load(&hands_on)) return NULL;
  void* const block = atomic_exchange(&handed, NULL);
  if (block == NULL || malloc_usable_size(block) >= bytes) return block;
  __libc_free(block);
  return NULL;
}

static struct sums* map_sums(void) {
  const char* const prefix = getenv("COUNTS");
  if (prefix == NULL) return NULL;
  int file = -1;
  for (int number = 0; file < 0 && number < 1000; ++number) {
    char path[4096];
    snprintf(path, sizeof path, "%s.%d.%d", prefix, getpid(), number);
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  if (file < 0 || ftruncate(file, sizeof(struct sums)) != 0) abort();
  void* const memory = mmap(NULL, sizeof(struct sums), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

static void begin_child(void) {
  struct sums* const own = map_sums();
  if (own != NULL) atomic_store(&sums, own);
}

// One thread, still: what was counted before moves over.
__attribute__((constructor)) static void begin(void) {
  struct sums* const own = map_sums();
  if (own == NULL) return;
  atomic_store(&hands_on, getenv("HANDS_ON") != NULL);
  memcpy(own, &before_there_is_a_file, sizeof *own);
  atomic_store(&sums, own);
  pthread_atfork(NULL, NULL, begin_child);
}

#define COUNTED __attribute__((visibility("default")))

COUNTED void* malloc(size_t bytes) {
  count(MALLOC, bytes);
  void* const block = take_handed(bytes);
  return block != NULL ? block : __libc_malloc(bytes);
}
COUNTED void* calloc(size_t number, size_t bytes) {
  count(CALLOC, number * bytes);
  return __libc_calloc(number, bytes);
}
COUNTED void* realloc(void* block, size_t bytes) {
  count(REALLOC, bytes);
  return __libc_realloc(block, bytes);
}
COUNTED void* reallocarray(void* block, size_t number, size_t bytes) {
  count(REALLOCARRAY, number * bytes);
  return __libc_realloc(block, number * bytes);
}
COUNTED void* aligned_alloc(size_t alignment, size_t bytes) {
  count(ALIGNED_ALLOC, bytes);
  return __libc_memalign(alignment, bytes);
}
COUNTED void* memalign(size_t alignment, size_t bytes) {
  count(MEMALIGN, bytes);
  return __libc_memalign(alignment, bytes);
}
COUNTED int posix_memalign(void** result, size_t alignment, size_t bytes) {
  count(POSIX_MEMALIGN, bytes);
  *result = __libc_memalign(alignment, bytes);
  return *result == NULL ? ENOMEM : 0;
}
COUNTED void* valloc(size_t bytes) {
  count(VALLOC, bytes);
  return __libc_valloc(bytes);
}
COUNTED void* pvalloc(size_t bytes) {
  count(PVALLOC, bytes);
  return __libc_pvalloc(bytes);
}
COUNTED void free(void* block) {
  count(FREE, 0);
  if (atomic_load(&hands_on) && block != NULL) {
    block = atomic_exchange(&handed, block);
    sched_yield();
  }
  __libc_free(block);
}
