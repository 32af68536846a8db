/* compact_heap_c.h: the compacting heap in C. Blocks move, so that free memory is never scattered: a program holds
 * handles, and asks for a block's address when it wants to touch the block.
 *
 *   struct snug_compact_heap* heap = snug_compact_create(NULL);
 *   snug_handle name = snug_compact_alloc(heap, 100, 0);
 *   strcpy(snug_compact_deref(heap, name), "snug");
 *   snug_compact_free(heap, name);
 *
 * Compact-fit (Craciunas, Kirsch, Payer, Sokolova, Stadler, Staudinger, "A Compacting Real-Time Memory Management
 * System", USENIX ATC 2008): blocks of one size class lie in pages of their own. Of each class at most `not_full` pages
 * have a free block (and those that hold pinned blocks, which stay where they are): a free that would leave one more
 * moves one block of another page into the hole. So the free memory inside pages never exceeds
 *
 *   sum over classes of  not_full * (blocks a page - 1) * block size
 *
 * whatever the program has done before. Empty pages go back to the store that snug's malloc uses.
 *
 * An address is good until the next call for the heap that may move blocks: free, resize, unpin, step and
 * set_not_full. Pin a block for longer. Only one thread at a time may use a heap, unless its options say how several
 * share it; then addresses are good inside of a section (below). Sizes are in bytes. libsnug.so and libsnug.a have
 * these functions; snug/compact_heap.h is the same in C++, with types. A handle that was freed, or is invalid, ends the
 * process with one line that says so.
 */
#ifndef SNUG_COMPACT_HEAP_C_H
#define SNUG_COMPACT_HEAP_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct snug_compact_heap;

/* Names a block for as long as it lives, and never names another block of the heap. 0 names none. */
typedef uint64_t snug_handle;

/* The value of not_full for a heap that never moves anything by itself. */
#define SNUG_COMPACT_NEVER ((size_t)-1)

/* Which block sizes there are. */
enum snug_compact_map {
  SNUG_COMPACT_FINE = 0, /* sixteen classes a doubling: at most 6% of a block is rounding */
  SNUG_COMPACT_CF16 = 1, /* compact-fit's own: growth 1.125 from 16 bytes in pages of 16 KiB, for comparisons */
  SNUG_COMPACT_CF32 = 2  /* the same from 32 bytes */
};

/* Which threads use the heap. As with malloc, only one thread at a time may free, resize or write to a given block. */
enum snug_compact_sharing {
  SNUG_COMPACT_ONE_THREAD = 0,  /* at a time */
  SNUG_COMPACT_ONE_LOCK = 1,    /* any threads: one lock for the heap */
  SNUG_COMPACT_CLASS_LOCKS = 2, /* any threads: a lock for each class of sizes, and short ones for what classes share */
  SNUG_COMPACT_CORES = 3 /* any threads: a heap for each core, with a lock of its own, and one table of handles. A block
                            is allocated in the heap of the core that the thread runs on, and freed to the same heap.
                            Limits on a heap's memory (not_full pages a class, spare pages, pairs of size and function,
                            handles) hold for each core's heap. Not in a region */
};

struct snug_compact_options {
  size_t not_full;  /* kappa: pages of a class that may have a free block; at least 1, 0: 1 */
  size_t increment; /* iota: bytes that a move copies before it looks at the budget; 0: 4096 */
  enum snug_compact_map map;
  int direct;          /* 1: no handles, and nothing ever moves: snug_compact_direct_alloc and _free are its only two */
  void* region;        /* NULL: memory comes from the store of snug's malloc; else everything lies here, */
  size_t region_bytes; /* so that the heap makes no system call: see snug_cell_region_map() for such memory */
  size_t handles; /* the most blocks at a time (of each core), as far as handles go, rounded up to 2^17 or a multiple;
                     in a region exact. 0: 2^27 - 1, the most there can be, in a region one for 64 bytes of it. Fewer
                     with more than 32 cores, 2^32 for all, and where the process may not have all addresses: handles
                     take a sixteenth at most */
  enum snug_compact_sharing sharing;
};

/* NULL options: a heap with all zero. NULL: the OS refuses memory, the region is too small, or an option is wrong
 * (errno is ENOMEM or EINVAL). */
struct snug_compact_heap* snug_compact_create(const struct snug_compact_options* options);
/* Frees every block. The heap must hold no pin. */
void snug_compact_destroy(struct snug_compact_heap* heap);

/* A block of at least `bytes` (0 counts as 1); its address is always a multiple of `alignment`: a power of two, or 0
 * for the alignment of the map's sizes (16 bytes; 8 in compact-fit's own). 0: there is no memory, or no slot for a
 * handle. O(1). */
snug_handle snug_compact_alloc(struct snug_compact_heap* heap, size_t bytes, size_t alignment);
/* The same for a block with contents that cannot be moved by copying bytes: `relocate` moves them, in one go whatever
 * the increment is, from the block `from` to the block `to`, and must not use the heap. Blocks of one size and one
 * `relocate` lie in pages of their own; a heap takes 64 such pairs, and returns 0 beyond. Such a block has at most 15
 * bytes more than requested, but for its alignment, and snug_compact_resize() does not move it. Blocks beyond 32768
 * bytes never move. O(pairs). */
snug_handle snug_compact_alloc_relocated(struct snug_compact_heap* heap, size_t bytes, size_t alignment,
                                         void (*relocate)(void* from, void* to));
/* O(1), and moves at most one block; if several threads share the heap up to three, moves that other calls have left
 * included. 0 is ignored. */
void snug_compact_free(struct snug_compact_heap* heap, snug_handle handle);
/* Gives the block another size under the same handle, at a multiple of `alignment` (0: as above) from now on; contents
 * are kept up to the lesser of both sizes. 0 if done; -1: there is no memory; the alignment is no power of two; or the
 * block does not fit where it is, and is pinned or of snug_compact_alloc_relocated(). It is unchanged then. O(bytes),
 * and moves as many blocks as two frees. */
int snug_compact_resize(struct snug_compact_heap* heap, snug_handle handle, size_t bytes, size_t alignment);
/* Where the block lies now. */
void* snug_compact_deref(struct snug_compact_heap* heap, snug_handle handle);
/* The same, but NULL for a handle that names no live block. */
void* snug_compact_try_deref(struct snug_compact_heap* heap, snug_handle handle);
/* All of it may be written. */
size_t snug_compact_usable_size(struct snug_compact_heap* heap, snug_handle handle);

/* Keeps the block where it is until it is unpinned as often as it was pinned. Returns its address; NULL if it has 15
 * pins already. The page that holds it takes no part in compaction meanwhile. A pinned block cannot be freed. */
void* snug_compact_pin(struct snug_compact_heap* heap, snug_handle handle);
/* Makes the moves that the pin has held up: up to as many as a page has blocks, and two more in a heap that has
 * readers. */
void snug_compact_unpin(struct snug_compact_heap* heap, snug_handle handle);

/* Sets the bound of every class, from now on. A smaller bound holds when the call returns, except for blocks that
 * readers keep from moving. O(pages). */
void snug_compact_set_not_full(struct snug_compact_heap* heap, size_t not_full);
/* The same only for blocks of this size, until the next call for all sizes; not for blocks that functions move. 0 if
 * done; -1: there is no memory. */
int snug_compact_set_not_full_of(struct snug_compact_heap* heap, size_t bytes, size_t not_full);
void snug_compact_set_increment(struct snug_compact_heap* heap, size_t increment);

struct snug_compact_budget {
  uint64_t nanoseconds; /* 0: no limit */
  uint64_t bytes;       /* to copy; 0: no limit */
};
/* Compacts beyond what not_full asks for, down to one page with free blocks a class, in idle time. With a budget the
 * call is a slice: it looks at the budget before each increment, and stops in the middle of a move if it is used up, so
 * that it oversteps by one increment at most. So that interrupts seldom make it late, it leaves a part of its time
 * unused: three quarters at first, then as much as lets one slice in some 4000 be late on this machine. A slice makes
 * no system call, except to wait for another thread's lock (Linux reads the clock without entering the kernel), and
 * touches no fresh memory. Pages that it empties beyond those kept (bytes_spare) go to the OS with later calls: up to
 * nine rows of pages with each call that frees, pins, resizes or needs a new row (in a heap that threads share, each
 * that allocates), or by snug_compact_give_back(). Without a budget all go at once. Returns 1 if something is left to
 * do, else 0. */
int snug_compact_step(struct snug_compact_heap* heap, const struct snug_compact_budget* budget);
/* Gives so many rows of pages (0: all) that slices have emptied beyond those kept to the OS, with a system call each;
 * in a region without. Returns how many went: fewer if no more are to go. For a program that rests after a slice. */
size_t snug_compact_give_back(struct snug_compact_heap* heap, size_t rows);
/* Gives up the moves that a step has begun, if there are any, so that no move is under way. O(classes). */
void snug_compact_settle(struct snug_compact_heap* heap);

/* For a heap with the option `direct`. */
void* snug_compact_direct_alloc(struct snug_compact_heap* heap, size_t bytes, size_t alignment);
void snug_compact_direct_free(struct snug_compact_heap* heap, void* block);

struct snug_compact_stats {
  size_t blocks;         /* live */
  size_t bytes_blocks;   /* of them and of places that moves fill, as large as their classes make them */
  size_t bytes_not_full; /* free blocks in pages that are not full: the size-class fragmentation */
  size_t bytes_bound;    /* the bound on bytes_not_full, exceeded only by blocks that readers keep from moving; pages
                            that hold pins are counted in both */
  size_t bytes_tails;    /* at the ends of pages, too short for a block */
  size_t bytes_large;    /* of bytes_blocks, in blocks that have pages of their own */
  size_t bytes_spare;    /* in empty pages, kept for later use: 128 KiB, or as much as had to be taken from the OS again
                            of late, but at most an eighth of the pages of blocks up to 32 KiB */
  size_t bytes_handles;  /* of the table of handles */
  size_t bytes_records;  /* of the records of pages, back pointers to handles included, and of the heap itself */
  size_t pages;          /* of 16 KiB, spare ones apart */
  size_t rows_not_full;  /* of pages that blocks of one class lie in together, one to eight */
  size_t rows_pinned;    /* of them, those that hold a pinned block */
  size_t pins;
  size_t moves_in_flight; /* begun by a step that has used up its budget */
  uint64_t moves;         /* so far, and their bytes; moves_aborted: moves that were given up, as something changed */
  uint64_t bytes_moved;
  uint64_t moves_aborted;
  /* How often a thread had to wait for a lock: the heap's one, or those of cores' heaps, those of classes, the table's
   * of handles, and that for pages. */
  uint64_t waits_heap, waits_classes, waits_handles, waits_pages;
};
/* O(classes). */
void snug_compact_get_stats(const struct snug_compact_heap* heap, struct snug_compact_stats* stats);
/* The same for the class that serves so many bytes, without blocks that functions move: its blocks, its pages with what
 * is free in them and the bound on that ((size_t)-1 for a direct heap), pins, moves and waits for its locks; the fields
 * of large blocks, spare pages, handles and records, and other waits, are 0. Returns the size of its blocks, so that 1
 * more belongs to the next class; 0: there is no class, since blocks of that size have pages of their own. O(1), for
 * heaps of cores O(cores). */
size_t snug_compact_get_stats_of(const struct snug_compact_heap* heap, size_t bytes, struct snug_compact_stats* stats);

/* The table of handles, for code that dereferences without a call: slots[(uint32_t)handle] ^ handle is the address of
 * the handle's block, if the slot is less than slot_limit. It is 2^48 or more if the handle names no block, or one that
 * is being moved: then call snug_compact_deref. A number without the highest bit is no handle, and may still lead to an
 * address. The table never moves; slot_limit rises. If several threads share the heap, slots are loaded with the order
 * __ATOMIC_SEQ_CST, in a section; to enter one is
 * __atomic_exchange_n(&reader->epoch, __atomic_load_n(view.epoch, __ATOMIC_ACQUIRE), __ATOMIC_SEQ_CST), and to leave it
 * __atomic_store_n(&reader->epoch, 0, __ATOMIC_RELEASE). */
struct snug_compact_view {
  const uint64_t* slots;
  size_t slot_limit;
  const uint64_t* epoch;
};
void snug_compact_get_view(struct snug_compact_heap* heap, struct snug_compact_view* view);

/* Sections, for a heap that several threads share. A block that a thread looks up inside of one stays where it is until
 * the thread leaves: moves of blocks wait, but no thread does. Look up no block outside. Later calls make the moves
 * that had to wait; so stay inside for microseconds, and pin blocks that you need longer. Only one thread at a time may
 * use a reader, in one section at a time. Inside, all calls for the heap are allowed but snug_compact_destroy(). */
struct snug_compact_reader {
  uint64_t epoch; /* the epoch in which it entered; 0: it is outside */
};
/* NULL: there is no memory (ENOMEM). It costs 64 bytes; destroyed readers are used again. O(readers). */
struct snug_compact_reader* snug_compact_reader_create(struct snug_compact_heap* heap);
/* The reader must be outside of a section. */
void snug_compact_reader_destroy(struct snug_compact_heap* heap, struct snug_compact_reader* reader);
void snug_compact_enter(struct snug_compact_heap* heap, struct snug_compact_reader* reader);
void snug_compact_leave(struct snug_compact_heap* heap, struct snug_compact_reader* reader);

/* Calls visit(context, handle, block, usable bytes) for each live block. It must not use the heap. */
void snug_compact_walk(struct snug_compact_heap* heap,
                       void (*visit)(void* context, snug_handle handle, void* block, size_t bytes), void* context);

/* NULL if every invariant holds, else a static sentence that names the broken one. O(blocks). A heap that
 * several threads share is locked as a whole meanwhile; with SNUG_COMPACT_CORES one core's heap after the other. */
const char* snug_compact_check(const struct snug_compact_heap* heap);

#ifdef __cplusplus
}
#endif

#endif /* SNUG_COMPACT_HEAP_C_H */
