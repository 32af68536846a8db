/* heap.h: heaps of one's own, beside the one that malloc uses: for a request, a tenant, a query, a plugin.
 *
 *   snug_heap* heap = snug_heap_create(NULL);
 *   char* text = snug_heap_malloc(heap, 100);
 *   ...
 *   snug_heap_destroy(heap);     // every block of it is gone, freed or not
 *
 * A block of a heap is freed as any other, by free() or snug_free(), from any thread, or stays until the heap is
 * destroyed. snug_realloc() and realloc() keep a block in its heap. C++'s delete takes it as well, but with
 * sized_delete:trust. Blocks of different heaps share no OS page of up to 16 KiB. snug_get_stats(), snug_malloc_trim()
 * and snug_check() see all heaps, the first but those in a region; the profile (snug/profile.h) sees their large blocks
 * alone, and of those in a region none. check:on looks at their blocks as at malloc's, and names the heap of one that
 * is used after its heap was destroyed; delete is for blocks of new in a scope then.
 *
 * Any thread may use any heap at any time. Where a function says that it has the heap for itself, no other thread may
 * be using the heap or freeing a block of it meanwhile. A thread that uses a heap often has a cache of free blocks for
 * it, for up to eight heaps at a time; what lies there comes back to the heap when the thread ends, or turns to other
 * heaps. A child of fork has all heaps of its parent.
 *
 * Sizes and alignments are in bytes. Blocks are aligned to 16 bytes or to the alignment asked for. A request that
 * cannot be served returns NULL with errno ENOMEM. Functions are thread-safe, not async-signal-safe. Each ends the
 * process with one line if it sees that `heap` is no heap, or was destroyed; a record that serves another heap by then
 * is not seen.
 */
#ifndef SNUG_HEAP_H
#define SNUG_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "snug/snug.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct snug_heap snug_heap;

/* The longest name of a heap, without the null behind it. */
#define SNUG_HEAP_NAME_MAX 31

struct snug_heap_options {
  size_t size;      /* sizeof(struct snug_heap_options): what a later version adds is 0 for a program of today */
  const char* name; /* copied, and cut at SNUG_HEAP_NAME_MAX; NULL for none */
  /* The most memory that the heap may hold, in bytes: pages that its blocks lie on, whether used or not, and large
   * blocks. A request that would exceed it first brings home what the calling thread has cached and gives back empty
   * pages of the heap, then asks the program's callbacks (snug/limits.h); if that is not enough it returns NULL with
   * errno ENOMEM. 0: no limit. */
  size_t limit;
  /* The memory beyond which empty pages of the heap go back and callbacks are asked to free some; the request is
   * served. 0: none. */
  size_t soft_limit;
  unsigned flags; /* SNUG_HEAP_... or 0 */
  unsigned node;  /* with SNUG_HEAP_ON_NODE: of a NUMA machine, as the kernel counts; else not looked at */
  /* Memory of the caller's that all blocks of the heap lie in, and nothing else; NULL: memory that snug asks the OS
   * for. Address and length are multiples of SNUG_HEAP_REGION_UNIT. snug makes no system call about it, keeps its own
   * records elsewhere, and neither reads nor writes what is in no block, whatever memory it is: of huge pages, locked,
   * shared, of a file, bound to a node. It stays readable and writable, and the caller's to keep there, until the heap
   * is destroyed; then it is the caller's alone again. A request that finds no room is as one at the limit, which the
   * length is as well. */
  void* region;
  size_t region_bytes; /* 0 without a region */
};
/* What the address and the length of a region are multiples of, in bytes. */
#define SNUG_HEAP_REGION_UNIT 16384
/* snug_heap_destroy() destroys the heap only when none of its blocks is in use. */
#define SNUG_HEAP_MUST_BE_EMPTY 1u
/* All memory of the heap's blocks comes from the one node `node` (mbind): the kernel chooses the page as it is first
 * touched, and a page that has been in use is moved, or the request is refused as one that the OS refuses. The kernel
 * does not look whether the node has memory: where it has none left, it ends a process, as on a full machine. A system
 * call for each slab and large block that comes and goes: some microseconds, and some hundred where pages may have to
 * move. A large block that realloc makes longer or shorter is copied. */
#define SNUG_HEAP_ON_NODE 2u

/* A new heap. `options` may be NULL, as if all of them were 0. NULL with errno EINVAL for a flag that is not known, a
 * `size` that is too small, or anything but 0 in what lies beyond the options of this version; ENOMEM without memory.
 * For a region EINVAL if its address or length is no multiple of SNUG_HEAP_REGION_UNIT, one of the two is missing, it
 * ends beyond address 2^48, it is longer than 64 TiB, lies in a block of up to 256 KiB that snug has given out, or
 * SNUG_HEAP_ON_NODE is set; EEXIST if a part of it is another heap's region. With SNUG_HEAP_ON_NODE also EINVAL for a
 * node of which the process may have no memory, ENOSYS where the kernel knows no nodes or has pages of more than 16
 * KiB, and EPERM where a filter keeps it from telling. O(1), with a region O(MiB of it). */
SNUG_API snug_heap* snug_heap_create(const struct snug_heap_options* options);
/* Ends the heap and all of its blocks, and its region stays as it is; has the heap for itself. Returns 0; or EBUSY, and
 * has done nothing, if blocks are in use and the heap was created with SNUG_HEAP_MUST_BE_EMPTY. NULL is ignored.
 * O(slabs, large blocks and caches): a slab is a row of blocks of one size, 16 KiB to 256 KiB; with check:on O(blocks).
 */
SNUG_API int snug_heap_destroy(snug_heap* heap);

/* As the functions of the same names without `heap`. O(1), but for what the OS has to give. */
SNUG_API void* snug_heap_malloc(snug_heap* heap, size_t size);
SNUG_API void* snug_heap_calloc(snug_heap* heap, size_t count, size_t size);
SNUG_API void* snug_heap_aligned_alloc(snug_heap* heap, size_t alignment, size_t size);
SNUG_API void* snug_heap_aligned_calloc(snug_heap* heap, size_t alignment, size_t count, size_t size);
/* The block at its new size, in `heap`, whichever heap it lay in before, and malloc's among them. As realloc: NULL is a
 * request, size 0 frees the block; NULL is returned without memory, and the block is as it was. */
SNUG_API void* snug_heap_realloc(snug_heap* heap, void* block, size_t size);
/* As snug_malloc_batch. */
SNUG_API size_t snug_heap_malloc_batch(snug_heap* heap, size_t size, void** blocks, size_t count);

/* For code that calls malloc and cannot be changed: from now on what the calling thread requests of malloc and its
 * family, C++'s new among them, comes from the heap, until it enters another or leaves. `heap` may be NULL: malloc's
 * own, for what is to outlive the scope. Returns the heap that was in force, NULL for malloc's, which the matching
 * snug_heap_leave() takes; scopes nest, and end in the reverse order.
 *
 * Blocks that the code frees go where they came from, whichever scope is in force, and realloc keeps a block in its
 * heap. What a library keeps for later (a buffer of stdio's, a table that it makes at first use) lies in the heap as
 * well: destroy the heap only if nothing of that is used again. snug_malloc_uncached() knows no scope. Entering the
 * first scope and leaving the last empty the thread's cache for malloc's own heap: some microseconds, and more for what
 * is allocated next. In a scope malloc takes 55 instructions instead of 13, and free of its block 57 instead of 16. */
SNUG_API snug_heap* snug_heap_enter(snug_heap* heap);
/* `before` is what the matching snug_heap_enter() has returned. */
SNUG_API void snug_heap_leave(snug_heap* before);

/* The heap that a live block lies in; NULL for NULL, a block of malloc, and an address outside of snug's blocks.
 * (Inside a block of up to 256 KiB the answer is the block's heap, inside a larger one NULL.) O(1). */
SNUG_API snug_heap* snug_heap_of(const void* block);
/* The name; "" if it has none. Lives as long as the heap. */
SNUG_API const char* snug_heap_name(const snug_heap* heap);

/* Values of one moment; blocks in other threads' caches are counted a few operations late. */
struct snug_heap_stats {
  uint64_t blocks_in_use;
  uint64_t bytes_in_use; /* usable bytes of these */
  uint64_t bytes_held;   /* what the limit is about: pages for blocks, and large blocks */
  uint64_t bytes_cached; /* free blocks in threads' caches */
  uint64_t peak_held;    /* the most of bytes_held so far */
  uint64_t limit;        /* 0: none */
  uint64_t soft_limit;   /* 0: none */
};
/* Fills `*stats`. Returns 0. O(classes and caches). */
SNUG_API int snug_heap_get_stats(snug_heap* heap, struct snug_heap_stats* stats);

/* Calls `visit` with each live block of the heap, its usable bytes and `argument`, until it returns other than 0;
 * returns that, or 0. Has the heap for itself: first what threads have cached goes home. Blocks come in no particular
 * order. `visit` may call what it likes but for what is about this heap or its blocks. O(slabs and blocks). */
SNUG_API int snug_heap_visit(snug_heap* heap, int (*visit)(void* argument, void* block, size_t bytes), void* argument);
/* Gives back pages of the heap without a block in use, the last ones too: what the calling thread has cached goes home
 * first. Returns 1 if anything was given back, else 0. O(slabs). */
SNUG_API int snug_heap_trim(snug_heap* heap);

#ifdef __cplusplus
}
#endif

#endif /* SNUG_HEAP_H */
