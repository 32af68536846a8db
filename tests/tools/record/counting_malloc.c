// An allocator that counts, independently of the recorder: the one behind it, glibc's unless $LD_PRELOAD names another,
// behind functions that add up what they were asked for. The sums lie in a file that is mapped, $COUNTS.PROCESS.N, so
// that they survive whatever ends the process; N counts the programs that the process has executed. Behind them stands
// which file serves.
//
// With $HANDS_ON it gives a block that one thread has just freed to the next thread that asks, and lets that one go
// first: a recorder that reports the free too late then reports it behind the block's next allocation.
#define _GNU_SOURCE
#include <dlfcn.h>
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

enum {
  MALLOC,
  CALLOC,
  REALLOC,
  REALLOCARRAY,
  ALIGNED_ALLOC,
  MEMALIGN,
  POSIX_MEMALIGN,
  VALLOC,
  PVALLOC,
  FREE,
  INSIDE,
  KINDS
};

struct sums {
  atomic_ullong calls[KINDS];
  atomic_ullong bytes[KINDS];
  char served_by[1024];
};

static struct sums before_there_is_a_file;
static struct sums* _Atomic sums = &before_there_is_a_file;

static struct {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  void* (*memalign)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  void (*free)(void*);
  size_t (*usable_size)(void*);
} behind;

// The process has one thread as yet.
static void look_up(void) {
  *(void**)&behind.calloc = dlsym(RTLD_NEXT, "calloc");
  *(void**)&behind.realloc = dlsym(RTLD_NEXT, "realloc");
  *(void**)&behind.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
  *(void**)&behind.memalign = dlsym(RTLD_NEXT, "memalign");
  *(void**)&behind.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
  *(void**)&behind.valloc = dlsym(RTLD_NEXT, "valloc");
  *(void**)&behind.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
  *(void**)&behind.free = dlsym(RTLD_NEXT, "free");
  *(void**)&behind.usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
  *(void**)&behind.malloc = dlsym(RTLD_NEXT, "malloc");
}

// Memory that the allocator gets for itself meanwhile is not counted. But it may free what others were given: INSIDE
// counts what it frees or reallocates.
static _Thread_local unsigned depth __attribute__((tls_model("initial-exec")));

static void enter(int kind, size_t bytes) {
  if (behind.malloc == NULL) look_up();
  if (depth++ != 0) {
    if (kind != FREE && kind != REALLOC) return;
    kind = INSIDE;
    bytes = 0;
  }
  struct sums* const into = atomic_load(&sums);
  atomic_fetch_add(&into->calls[kind], 1);
  atomic_fetch_add(&into->bytes[kind], bytes);
}

static void* leave_with(void* block) {
  --depth;
  return block;
}

static atomic_bool hands_on;
static void* _Atomic handed;

static void* take_handed(size_t bytes) {
  if (!atomic_load(&hands_on)) return NULL;
  void* const block = atomic_exchange(&handed, NULL);
  if (block == NULL || behind.usable_size(block) >= bytes) return block;
  behind.free(block);
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
  if (own == NULL) return;
  memcpy(own->served_by, before_there_is_a_file.served_by, sizeof own->served_by);
  atomic_store(&sums, own);
}

// One thread, still: what was counted before moves over.
__attribute__((constructor)) static void begin(void) {
  if (behind.malloc == NULL) look_up();
  Dl_info info;
  if (dladdr(*(void**)&behind.malloc, &info) != 0)
    strncpy(before_there_is_a_file.served_by, info.dli_fname, sizeof before_there_is_a_file.served_by - 1);
  struct sums* const own = map_sums();
  if (own == NULL) return;
  atomic_store(&hands_on, getenv("HANDS_ON") != NULL);
  memcpy(own, &before_there_is_a_file, sizeof *own);
  atomic_store(&sums, own);
  pthread_atfork(NULL, NULL, begin_child);
}

#define COUNTED __attribute__((visibility("default")))

COUNTED void* malloc(size_t bytes) {
  enter(MALLOC, bytes);
  void* const block = take_handed(bytes);
  return leave_with(block != NULL ? block : behind.malloc(bytes));
}
COUNTED void* calloc(size_t number, size_t bytes) {
  enter(CALLOC, number * bytes);
  return leave_with(behind.calloc(number, bytes));
}
COUNTED void* realloc(void* block, size_t bytes) {
  enter(REALLOC, bytes);
  return leave_with(behind.realloc(block, bytes));
}
COUNTED void* reallocarray(void* block, size_t number, size_t bytes) {
  enter(REALLOCARRAY, number * bytes);
  return leave_with(behind.realloc(block, number * bytes));
}
COUNTED void* aligned_alloc(size_t alignment, size_t bytes) {
  enter(ALIGNED_ALLOC, bytes);
  return leave_with(behind.aligned_alloc(alignment, bytes));
}
COUNTED void* memalign(size_t alignment, size_t bytes) {
  enter(MEMALIGN, bytes);
  return leave_with(behind.memalign(alignment, bytes));
}
COUNTED int posix_memalign(void** result, size_t alignment, size_t bytes) {
  enter(POSIX_MEMALIGN, bytes);
  const int error = behind.posix_memalign(result, alignment, bytes);
  --depth;
  return error;
}
COUNTED void* valloc(size_t bytes) {
  enter(VALLOC, bytes);
  return leave_with(behind.valloc(bytes));
}
COUNTED void* pvalloc(size_t bytes) {
  enter(PVALLOC, bytes);
  return leave_with(behind.pvalloc(bytes));
}
COUNTED void free(void* block) {
  enter(FREE, 0);
  if (atomic_load(&hands_on) && block != NULL) {
    block = atomic_exchange(&handed, block);
    sched_yield();
  }
  behind.free(block);
  --depth;
}
// Asked by the recorder about large blocks and what a child frees, and by programs: not counted. Some allocators make
// something of their own when they are first asked.
COUNTED size_t malloc_usable_size(void* block) {
  if (behind.malloc == NULL) look_up();
  ++depth;
  const size_t size = behind.usable_size(block);
  --depth;
  return size;
}
