/* planted.c: a malloc that is wrong on purpose, so that the conformance tests can be seen to fail.
 *
 * It forwards to glibc, but for the one defect that the environment variable PLANTED names. The tests planted.<defect>
 * preload it and demand that the tests meant for this defect fail, and that they pass with PLANTED=nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

static int planted(const char* defect) {
  const char* chosen = getenv("PLANTED");
  return chosen && strcmp(chosen, defect) == 0;
}

size_t malloc_usable_size(void* block) {
  static size_t (*real)(void*);
  static int calls;
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "malloc_usable_size");
  const size_t size = real(block);
  /* Constant at first, then not. */
  if (planted("usable_size_drifts") && size && ++calls > 1000) return size + 8;
  if (planted("usable_size_short") && size > 4000) return size - 4000;
  return size;
}

static void* answer(void* block) {
  if (!block && planted("no_enomem")) errno = 0;
  return block;
}

void* malloc(size_t size) {
  static __thread void* last;
  static __thread size_t last_size;
  if (size == 0 && planted("null_for_zero")) return NULL;
  if (size > PTRDIFF_MAX && planted("wraps_around")) return __libc_malloc(16);
  /* Not before the tests begin: no program would come so far. */
  static size_t calls;
  if (planted("hands_out_twice") && ++calls > 10000 && last && size == last_size) return last;
  if (planted("overlaps") && size >= 1500) {
    /* Every second block begins in the last 16 bytes of the one before. */
    static char* previous;
    static size_t previous_size;
    if (previous && size <= 2 * previous_size) {
      void* overlapping = previous + ((previous_size - 16) & ~(size_t)15);
      previous = NULL;
      return overlapping;
    }
    previous = __libc_malloc(4 * size);
    previous_size = size;
    return previous;
  }
  void* block = __libc_malloc(size);
  if (size >= 16 && size % 8 == 0) {
    last = block;
    last_size = size;
  }
  return answer(block);
}

void free(void* block) {
  if (planted("hands_out_twice") || planted("overlaps")) return;
  __libc_free(block);
  if (planted("free_sets_errno")) errno = 0;
}

void* calloc(size_t count, size_t size) {
  if (planted("wraps_around")) {
    void* block = __libc_malloc(count * size);
    return block ? memset(block, 0, count * size) : block;
  }
  if (!planted("dirty_calloc")) return answer(__libc_calloc(count, size));
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) return NULL;
  return __libc_malloc(total);
}

void* realloc(void* block, size_t size) {
  if (!block) return malloc(size);
  if (planted("lossy_realloc") && size) {
    const size_t old = malloc_usable_size(block);
    char* moved = malloc(size);
    if (!moved) return NULL;
    memcpy(moved, block, (old < size ? old : size) / 2);
    free(block);
    return moved;
  }
  if (planted("realloc_loses_block") && size > PTRDIFF_MAX / 2) {
    memset(block, 0, 8);
    errno = ENOMEM;
    return NULL;
  }
  if (planted("realloc_ignores_zero") && size == 0) return block;
  return answer(__libc_realloc(block, size));
}

void* reallocarray(void* block, size_t count, size_t size) {
  size_t total = count * size;
  if (__builtin_mul_overflow(count, size, &total) && !planted("wraps_around")) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(block, total);
}

void* memalign(size_t alignment, size_t size) {
  return answer(__libc_memalign(planted("misaligned") && alignment > 16 ? 16 : alignment, size));
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
void* valloc(size_t size) { return memalign(4096, size); }
void* pvalloc(size_t size) {
  if (size > PTRDIFF_MAX && !planted("wraps_around")) {
    errno = ENOMEM;
    return NULL;
  }
  return memalign(4096, planted("pvalloc_is_valloc") ? size : (size + 4095) & ~(size_t)4095);
}

int posix_memalign(void** block, size_t alignment, size_t size) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1))) {
    if (planted("posix_memalign_touches")) *block = NULL;
    return EINVAL;
  }
  const int kept = errno;
  void* served = memalign(alignment, size);
  errno = kept;
  if (!served) return ENOMEM;
  *block = served;
  return 0;
}

/* operator new(size_t), operator new(size_t, nothrow), operator delete(void*), as a C program can define them. */
void* _Znwm(size_t size) {
  static void* (*real)(size_t);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "_Znwm");
  return planted("new_returns_null") || !real ? malloc(size) : real(size);
}

void* _ZnwmRKSt9nothrow_t(size_t size, const void* nothrow) {
  static void* (*real)(size_t, const void*);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "_ZnwmRKSt9nothrow_t");
  return planted("new_returns_null") || !real ? malloc(size) : real(size, nothrow);
}

void _ZdlPv(void* block) {
  free(block);
  if (planted("free_sets_errno")) errno = 0;
}
