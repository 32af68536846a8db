/* cell_heap_c.h: the cell heap in C, for programs with or without an OS.
 *
 *   static char memory[1 << 20];
 *   struct snug_cell_heap* heap = snug_cell_heap_create(memory, sizeof memory);
 *   void* block = snug_cell_malloc(heap, 100);
 *   snug_cell_free(heap, block);
 *
 * TLSF's two-level bins, a trailer on free cells only, cheap checks; blocks are aligned to two words. allocation and
 * free are O(1), without loops and system calls. docs/cell-heap.md states the worst case and all details; the heap with
 * policies of your choice is C++, snug/cell_heap.h.
 *
 * libsnug_cell.a has the functions of the first part and needs memcpy, nothing else; libsnug_cell_rt.a those of the
 * second part, for Linux. A heap is not thread-safe: lock it, or use LockedCellHeap. Sizes are in bytes.
 */
#ifndef SNUG_CELL_HEAP_C_H
#define SNUG_CELL_HEAP_C_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- heap: libsnug_cell.a --------------------------------------------------------------------------------- */

struct snug_cell_heap;

/* The heap's own record takes the first snug_cell_heap_record() bytes (about 8 KiB) of the region, its cells the rest.
 * The region may begin anywhere. NULL if it is NULL, too small for the record and one cell, longer than the longest
 * cell (1 TiB; 2 GiB where addresses have 32 bits), or runs past the last address. There is nothing to destroy: stop
 * using the heap, and the region is yours again. */
struct snug_cell_heap* snug_cell_heap_create(void* region, size_t bytes);
size_t snug_cell_heap_record(void);

/* Adds more memory, anywhere, which is the heap's until snug_cell_heap_remove(). NULL if it was added, else a static
 * sentence that says why not. O(regions). */
const char* snug_cell_heap_add(struct snug_cell_heap* heap, void* region, size_t bytes);
/* Takes the region that snug_cell_heap_add() has added at `region` out of the heap. NULL, or a static sentence that
 * says why it did not: no such region begins there, or a block lives in it. O(cells of the region). */
const char* snug_cell_heap_remove(struct snug_cell_heap* heap, void* region);

/* NULL if nothing fits. 0 bytes give a block like any other. */
void* snug_cell_malloc(struct snug_cell_heap* heap, size_t bytes);
/* `alignment` is a power of two, or the answer is NULL. */
void* snug_cell_aligned_alloc(struct snug_cell_heap* heap, size_t alignment, size_t bytes);
/* In place if the cell behind allows it, else by a copy. NULL: nothing fits, and the block is as it was. */
void* snug_cell_realloc(struct snug_cell_heap* heap, void* block, size_t bytes);
/* In place or not at all: 1 if done, else 0, as for NULL. */
int snug_cell_resize(struct snug_cell_heap* heap, void* block, size_t bytes);
/* NULL is ignored. */
void snug_cell_free(struct snug_cell_heap* heap, void* block);
/* All of it may be written. 0 for NULL. */
size_t snug_cell_usable_size(const void* block);

struct snug_cell_stats {
  size_t bytes_total;      /* of all cells */
  size_t bytes_free;       /* of free cells */
  size_t bytes_least_free; /* the least that was free since the heap had any memory */
  size_t bytes_largest;    /* a request of so many bytes, or of fewer, is served now */
  size_t cells_used;
  size_t cells_free;
  size_t regions;
};
/* O(cells). */
void snug_cell_get_stats(const struct snug_cell_heap* heap, struct snug_cell_stats* stats);

/* Calls visit(context, block, bytes of the cell, 1 if used else 0) for each cell. It must not use the heap. */
void snug_cell_walk(const struct snug_cell_heap* heap,
                    void (*visit)(void* context, const void* block, size_t bytes, int used), void* context);

/* NULL if every invariant holds, else a static sentence that names the broken one. O(cells). */
const char* snug_cell_check(const struct snug_cell_heap* heap);

/* Called when an address is freed or resized that is no live block, or when memory beside one is damaged, with a
 * static sentence that says which; `call` is static too. To find the sentence takes O(cells) of the region. If the
 * handler is NULL (the default) or returns, the program traps. One handler for all heaps. */
typedef void snug_cell_misuse_handler(const char* call, const void* block, const char* reason);
void snug_cell_on_misuse(snug_cell_misuse_handler* handler);

/* ---- memory that does not fault: libsnug_cell_rt.a, Linux -------------------------------------------------- */

struct snug_cell_region {
  void* start;
  size_t bytes;
  int locked; /* 1: the kernel never takes a page away; 0: it may, since the process may not lock so much */
};

/* Maps memory, backs every OS page of it now, and locks it. 0, or -1 with errno and a region of NULL and 0 bytes. */
int snug_cell_region_map(struct snug_cell_region* region, size_t bytes);
void snug_cell_region_unmap(struct snug_cell_region* region);

#ifdef __cplusplus
}
#endif

#endif /* SNUG_CELL_HEAP_C_H */
