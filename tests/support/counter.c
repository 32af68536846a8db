/* counter.c: counts what a program asks of malloc, independently of snug.
 *
 * Preloaded instead of snug, it forwards to glibc and, at the end of each process, appends one line to the file named
 * by COUNTER_REPORT: {"pid":…, "program":"comm", "allocations":N, "reallocations":R}. N counts blocks surely handed
 * out; R counts calls of realloc that may or may not have moved a block. Another malloc's count of allocations for the
 * same work lies between N and N + R. Like snug's, the count begins anew in a forked child.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

static atomic_ulong allocations, reallocations;

static void* counted(void* block) {
  if (block) atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return block;
}

void* malloc(size_t size) { return counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }
void free(void* block) { __libc_free(block); }
void* memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void* valloc(size_t size) { return counted(__libc_memalign(4096, size)); }
void* pvalloc(size_t size) { return counted(__libc_memalign(4096, (size + 4095) & ~(size_t)4095)); }

void* realloc(void* block, size_t size) {
  if (!block) return malloc(size);
  atomic_fetch_add_explicit(&reallocations, 1, memory_order_relaxed);
  return __libc_realloc(block, size);
}

void* reallocarray(void* block, size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(block, total);
}

int posix_memalign(void** block, size_t alignment, size_t size) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1))) return EINVAL;
  const int kept = errno;
  void* served = memalign(alignment, size);
  errno = kept;
  if (!served) return ENOMEM;
  *block = served;
  return 0;
}

/* Of libc's blocks only libc knows the size; the next library in order may be the jemalloc that Redis links. */
size_t malloc_usable_size(void* block) {
  static size_t (*_Atomic of_libc)(void*);
  size_t (*usable)(void*) = atomic_load(&of_libc);
  if (!usable) {
    *(void**)&usable = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "malloc_usable_size");
    atomic_store(&of_libc, usable);
  }
  return usable(block);
}

static void begin_anew(void) {
  atomic_store(&allocations, 0);
  atomic_store(&reallocations, 0);
}

__attribute__((constructor)) static void prepare(void) { pthread_atfork(NULL, NULL, begin_anew); }

__attribute__((destructor)) static void report(void) {
  const char* path = getenv("COUNTER_REPORT");
  if (!path) return;
  char program[32] = "";
  int file = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    const ssize_t length = read(file, program, sizeof program - 1);
    program[length > 0 ? length - 1 : 0] = '\0';
    close(file);
  }
  char line[160];
  const int length =
      snprintf(line, sizeof line, "{\"pid\":%d,\"program\":\"%s\",\"allocations\":%lu,\"reallocations\":%lu}\n",
               (int)getpid(), program, atomic_load(&allocations), atomic_load(&reallocations));
  file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (write(file, line, (size_t)length) != length) abort();
  close(file);
}
