/* snug.h: the C interface of snug, a compact and fast memory allocator for Linux.
 *
 * Two ways to use it:
 *   - preload or link libsnug.so: it replaces malloc, free and operator new/delete of the whole process;
 *     the functions below then serve the same heap as malloc;
 *   - link libsnug.a: nothing is replaced, and only the snug_ names below exist.
 *
 * Unless it says otherwise, every function is thread-safe, not async-signal-safe, and behaves as the C or POSIX
 * function of the same name without the prefix. Sizes and alignments are in bytes. Blocks are aligned to 16 bytes
 * or to the alignment asked for. A request that cannot be served returns NULL with errno ENOMEM.
 */
#ifndef SNUG_SNUG_H
#define SNUG_SNUG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SNUG_API __attribute__((visibility("default")))
#else
#define SNUG_API
#endif

#define SNUG_VERSION_MAJOR 0
#define SNUG_VERSION_MINOR 1
#define SNUG_VERSION_PATCH 0

/* The version of the library that runs, as "0.1.0"; the macros above are those that the program was compiled with. */
SNUG_API const char* snug_version(void);

/* ---- allocation ------------------------------------------------------------------------------------------- */

SNUG_API void* snug_malloc(size_t size);
SNUG_API void* snug_calloc(size_t count, size_t size);
SNUG_API void* snug_realloc(void* block, size_t size);
SNUG_API void* snug_reallocarray(void* block, size_t count, size_t size);
/* Preserves errno. NULL is ignored; a pointer that snug did not hand out ends the process with one line. */
SNUG_API void snug_free(void* block);
/* C23: `size` is the size requested of malloc, calloc or realloc. It is checked only with check:on. */
SNUG_API void snug_free_sized(void* block, size_t size);
/* C23: `alignment` and `size` are those requested of aligned_alloc. The size is checked only with check:on. */
SNUG_API void snug_free_aligned_sized(void* block, size_t alignment, size_t size);
SNUG_API void* snug_aligned_alloc(size_t alignment, size_t size);
SNUG_API int snug_posix_memalign(void** block, size_t alignment, size_t size);
SNUG_API void* snug_memalign(size_t alignment, size_t size);
/* `count` * `size` bytes that are zero, aligned. NULL with errno EINVAL for an alignment that is no power of two. */
SNUG_API void* snug_aligned_calloc(size_t alignment, size_t count, size_t size);
/* As realloc, of a block of which the program has used `old_size` bytes: those stay, and all from there to `new_size`
 * are zero. For a NULL block all are. What a large block is made longer by is not written to where its pages are zero
 * already; in heaps of one's own (snug/heap.h), and with check:on, all of it is. A block that is seen to be shorter
 * than `old_size` ends the process with one line. O(bytes that are copied or cleared). */
SNUG_API void* snug_realloc_zeroed(void* block, size_t old_size, size_t new_size);
SNUG_API void* snug_valloc(size_t size);
SNUG_API void* snug_pvalloc(size_t size);
/* Constant during the life of the block; all of it may be written. 0 for NULL. */
SNUG_API size_t snug_malloc_usable_size(void* block);

/* As malloc; sets `*usable` to the bytes that may be used of the block, which are at least `size`: for a container that
 * grows by itself, what malloc_usable_size would say. Without memory `*usable` is 0. */
SNUG_API void* snug_malloc_sized(size_t size, size_t* usable);
/* Makes the block at least `size` bytes long where it stands. Returns 1; or 0, and nothing has changed, if it would
 * have to move, or has no room: then snug_realloc() may move it. A block of up to 256 KiB has what malloc_usable_size
 * says; one of up to 32 MiB also gets free pages behind it, but not in heaps of one's own (snug/heap.h), with check:on,
 * or once the profile (snug/profile.h) has been on. A sized free goes on to take the size that was requested. The block
 * must be live; it ends the process with one line if it is not seen to be. O(1). */
SNUG_API int snug_try_expand(void* block, size_t size);
/* 1 if the address lies on pages that snug cuts blocks from, or is the start of a live larger block; else 0: then it
 * was not handed out by snug. It says nothing of whether a block is live, and reads nothing at the address. O(1). */
SNUG_API int snug_is_in_heap(const void* address);

/* ---- batches ---------------------------------------------------------------------------------------------- */

/* Allocates `count` blocks of `size` bytes and writes their addresses to `blocks`, in no particular order. Returns how
 * many there are: fewer than `count`, with errno ENOMEM, only if memory ran out. Each is a block as of malloc, and may
 * be freed by itself. Up to the largest size class (256 KiB by default) they come from the thread's cache and from
 * slabs many at a time, for a small part of what as many calls of malloc cost. O(count). */
SNUG_API size_t snug_malloc_batch(size_t size, void** blocks, size_t count);
/* Frees the `count` blocks with the addresses in `blocks`, an array that is not changed; skips NULLs. The blocks may
 * come from any function of the family and have any sizes: those of one size that stand together are fastest. Preserves
 * errno. O(count). */
SNUG_API void snug_free_batch(void* const* blocks, size_t count);

/* ---- blocks that are moved -------------------------------------------------------------------------------- */

/* For a program that can move its blocks, since it knows every pointer to them: a store, a cache, an index. The blocks
 * left after many frees lie scattered over slabs, the stretches of memory that blocks of one size are cut from, and
 * each block keeps its slab. Ask for each block in idle time, and move those for which the answer is 1:
 *
 *   if (snug_should_move(block)) {
 *     void* moved = snug_malloc_uncached(size);
 *     if (moved != NULL) {
 *       memcpy(moved, block, size);
 *       snug_free_uncached(block);
 *       block = moved;
 *     }
 *   }
 *
 * So slabs become empty, and their memory goes back as after any free. Repeat this as long as blocks are moved.
 *
 * snug_should_move() returns 1 if the block's slab has free blocks, is not the one that its heap hands out from, and is
 * at most an eighth fuller than the average of the heap's other such slabs of the size; else 0. 0 for NULL, and for
 * blocks with pages of their own (beyond 256 KiB by default) or of the program's own heaps (snug/heap.h). The answer is
 * of this moment: other threads may change it. The block must be live, and stay so during the call: an address that
 * snug did not hand out, or that of a block that is seen to be free, ends the process with one line. Takes the lock of
 * the heap that the slab belongs to. O(1), but for the empty slabs of the size that the heap keeps: some tens at most.
 * Shape and rule are those of je_get_defrag_hint(), which Redis asks of its jemalloc (docs/recipes.md, "Redis"). */
SNUG_API int snug_should_move(const void* block);
/* The same of the `count` blocks with the addresses in `blocks`, an array that is not changed: sets answers[i], a byte,
 * to what snug_should_move(blocks[i]) returns, for blocks of any kinds and NULLs. Returns how many of the answers
 * are 1. Of each 64 in a row it takes the lock of each of their heaps once, not once for each block; thread-safe. An
 * address that is no live block's ends the process with the same line. O(count).
 *
 * All answers are of the moment of the call, and each block that is moved changes those of others: move what should,
 * then ask of the next. A few hundred at a time are as good as one. */
SNUG_API size_t snug_should_move_batch(void* const* blocks, size_t count, unsigned char* answers);
/* As malloc and free, but without the thread's cache of free blocks, which would hand out again the block just freed,
 * and would keep it from its slab. Blocks of these functions and of the others are the same. Slower: each takes a lock.
 * snug_free_uncached preserves errno; NULL is ignored; another pointer that snug did not hand out ends the process with
 * one line. O(1). */
SNUG_API void* snug_malloc_uncached(size_t size);
SNUG_API void snug_free_uncached(void* block);

/* ---- memory given back ------------------------------------------------------------------------------------ */

/* Empties the cache of every thread, then gives the OS every OS page without a live block: in the slabs of all threads,
 * and among empty pages and mappings, keeping about `pad` bytes of each of the last two. Not so in a huge page of which
 * less than a quarter is free: that stays whole. Other threads need not do anything for that, and are not stopped; the
 * call sleeps for 5 ms where any of them has blocks in its cache. Returns 1 if anything was given back, else 0. Slow:
 * walks the heap. */
SNUG_API int snug_malloc_trim(size_t pad);

/* Gives the OS about so many bytes at most of what is empty and kept: of the freed large blocks with mappings of their
 * own, then of the free pages, the oldest of each first. For a program without threads, in idle slices of its event
 * loop. Leaves alone what malloc_trim has besides: the caches of threads, and what lies in slabs, empty ones included.
 * Returns the bytes that went, or 0 if none are left; less than 2 MiB more than `bytes`, but the tail that realloc has
 * cut off a large block goes whole. O(bytes given back): a system call or a few for each stretch of pages. */
SNUG_API size_t snug_purge(size_t bytes);

/* The calling thread is about to wait for long: the free blocks in its caches go to their heaps, where other threads
 * and the OS can have them. The next allocations of the thread fill the caches again. O(blocks cached). */
SNUG_API void snug_thread_idle(void);

/* ---- statistics ------------------------------------------------------------------------------------------- */

/* Statistics of one moment. Counts of other running threads are read without stopping them, so they may be a
 * few operations old; with no other thread running every field is exact.
 *
 * From the first release on the struct keeps its size and its fields under one libsnug.so.N, and a further figure comes
 * by a further function (docs/install.md, "Versions"): the library fills its whole struct, in a program compiled
 * earlier too. Until then docs/questions.md, "Where a change goes", says what follows a new field. */
struct snug_stats {
  uint64_t allocations;    /* blocks handed out since the process (or its fork) began; of heaps (snug/heap.h), and in */
                           /* their scopes, those alone that are too large for a size class */
  uint64_t bytes_in_use;   /* usable bytes of live blocks */
  uint64_t blocks_in_use;  /* live blocks */
  uint64_t bytes_cached;   /* free blocks in thread caches, or on their way home */
  uint64_t bytes_in_slabs; /* spans held as slabs, free slots and caches included */
  uint64_t bytes_large;    /* usable bytes of live large blocks */
  uint64_t blocks_large;   /* live large blocks */
  uint64_t bytes_retained; /* empty pages and mappings kept that may be backed by memory */
  uint64_t bytes_reserved; /* address space held, metadata included */
  uint64_t bytes_metadata; /* snug's own records that have been touched */
  uint64_t bytes_purged;   /* total given back to the OS so far */
  uint64_t bytes_missed;   /* of empty pages that went back: taken again since, however much later, at most all */
  uint64_t refills;        /* batches from slabs to thread caches */
  uint64_t flushes;        /* batches from thread caches to slabs */
  uint64_t batches_sent;   /* batches of blocks sent home to heaps of others, the shared one included */
  uint64_t threads;        /* threads that hold a heap now */
  uint64_t heaps_abandoned; /* heaps left by dead threads, waiting for adoption */
  uint64_t retain;          /* the most bytes of empty pages kept, bytes of freed large blocks: what SNUG_CONF says, */
  uint64_t retain_large;    /* or a 32nd of the memory that the process may have, looked at as the heap starts; a */
  /* 16th while snug's background thread is there, for `purge_after`, of what was in use of late */
};

/* Fills `*stats`. Returns 0. */
SNUG_API int snug_get_stats(struct snug_stats* stats);

/* Where each byte is that the kernel counts as in memory (Rss in /proc/self/smaps) for snug's mappings: those of blocks
 * and of its own records, but neither the library's code and data, nor memory that compacting and cell heaps have from
 * elsewhere. The kernel says which pages are in memory, whatever snug's records say, so that the parts add up to `rss`.
 */
struct snug_memory {
  uint64_t rss;       /* the sum of what follows, up to `other` */
  uint64_t requested; /* live blocks: what was asked for. Estimated, for blocks that have a size class, by a sample */
                      /* of what these were asked for, or by the middle of the class's sizes without a report */
  uint64_t rounding;  /* live blocks: the rest */
  uint64_t cached;    /* free blocks in thread caches; estimated: touched to the same part as all of their class */
  uint64_t on_their_way;  /* blocks that threads have freed but that are not back in their slabs; estimated likewise */
  uint64_t free_in_slabs; /* free blocks of slabs that others keep in use, and what such slabs have yet to hand out */
  uint64_t empty_slabs;   /* slabs without a block in use, that heaps keep for their next blocks */
  uint64_t free_pages;    /* empty pages, kept up to `retain` and for `purge_after` */
  uint64_t kept_large;    /* of freed large blocks and behind live ones, kept up to `retain_large` */
  uint64_t records;       /* snug's own */
  uint64_t other;         /* compacting heaps; slabs of heaps (snug/heap.h); with check:sample, guarded pages */
  uint64_t untouched;     /* not in rss: of usable bytes of live blocks, what the program has yet to touch */
  uint64_t swapped;       /* not in rss: of all of the above, what lies in swap */
};

/* Fills `*memory` with the values of this moment. Returns 0, or -1, and zeros, if the kernel does not say which pages
 * are in memory (/proc is missing or forbidden). With other threads running the parts are of slightly different
 * moments. In a process that has forked, or was forked, pages that were only read count too, though the kernel counts
 * its common zero page for none of them. Slow: O(memory). */
SNUG_API int snug_get_memory(struct snug_memory* memory);

/* Same meaning as glibc's struct mallinfo2, of this heap. (Not named as the function: in C++ it would hide it.) */
struct snug_mallinfo {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
SNUG_API struct snug_mallinfo snug_mallinfo2(void);
/* Readable summary on standard error. */
SNUG_API void snug_malloc_stats(void);
/* XML on `stream`; `options` must be 0. Returns 0, or -1 with errno EINVAL. */
SNUG_API int snug_malloc_info(int options, FILE* stream);
/* Accepts any parameter and does nothing: those of glibc have no counterpart here. Returns 1. */
SNUG_API int snug_mallopt(int parameter, int value);

/* ---- checks ----------------------------------------------------------------------------------------------- */

/* Verifies the invariants of the shared structures, of every heap, and of the calling thread's cache; with
 * `all_heaps` != 0 of every thread's cache: pass it only if no other thread runs. Returns NULL if they hold, else a
 * static sentence that names the broken one. O(heap). */
SNUG_API const char* snug_check(int all_heaps);

/* ---- configuration ---------------------------------------------------------------------------------------- */

/* One key of SNUG_CONF, as in force in this process. Strings live as long as the process. */
struct snug_config_entry {
  const char* key;
  const char* unit;
  const char* default_value;
  const char* value;
  const char* origin; /* "default", "SNUG_CONF", or "changed" by snug_set or a tool */
  const char* help;   /* one sentence */
};
/* Fills `*entry` with the `index`-th key, from 0. Returns 0, or -1 when there are no more. Not thread-safe. */
SNUG_API int snug_config_get(size_t index, struct snug_config_entry* entry);
/* Changes settings of the running process, as SNUG_CONF has them: "purge_after:100,retain:16M". Only retain,
 * retain_large, limit, soft_limit and purge_after may change. Returns 0; or -1, with nothing changed, and errno EINVAL
 * (a mistake in the text), EPERM (another key) or ENOMEM. Thread-safe. */
SNUG_API int snug_set(const char* settings);

#ifdef __cplusplus
}
#endif

#endif /* SNUG_SNUG_H */
