/* limits.h: how much memory the heap may hold, and what the program does before that is too much.
 *
 *   SNUG_CONF=soft_limit:150M,limit:190M     or      snug_set("soft_limit:150M,limit:190M")
 *
 *   static int shrink(const struct snug_pressure* pressure, void* cache) { return drop_the_oldest(cache); }
 *   snug_on_pressure(shrink, cache, SNUG_PRESSURE_SOFT | SNUG_PRESSURE_HARD);
 *
 * What the heap holds is what may be in memory because of it: pages of slabs and large blocks in use, free ones that
 * have not gone back to the OS, and snug's records. (Pages that went back out of a slab in use count on: they may be
 * written at any time.) Neither the program's code, stacks and files nor memory of other allocators are part of it.
 *
 * Beyond `soft_limit` what is empty goes back, the caches of all threads with it (of the calling one, for a heap), and
 * callbacks are called; the request is served. Again whenever a 64th of the limit more is held. Beyond `limit` the
 * same, and once no callback frees anything more the request gets NULL with errno ENOMEM; at once if it exceeds the
 * limit by itself. What is held exceeds the limit by snug's records alone.
 *
 * `auto` for either follows the container (control groups), whatever else runs in it: `limit:auto` is 15/16 of the
 * memory that it leaves the heap (memory.max), `soft_limit:auto` leads to where the kernel begins to slow it down
 * (memory.high), or is 7/8 of what it leaves. Both are looked at every second.
 */
#ifndef SNUG_LIMITS_H
#define SNUG_LIMITS_H

#include <stdint.h>

#include "snug/heap.h"
#include "snug/snug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a callback is called: bits. */
#define SNUG_PRESSURE_SOFT 1u  /* more is held than the soft limit */
#define SNUG_PRESSURE_STALL 2u /* tasks of the container wait for memory, more than the setting `pressure` allows */
#define SNUG_PRESSURE_HARD 4u  /* a request is about to be refused, by a limit or by the OS */
#define SNUG_PRESSURE_ALL 7u

struct snug_pressure {
  uint64_t size;   /* of this struct in the library that runs: what a later version adds is behind these */
  unsigned level;  /* one of the above */
  uint64_t held;   /* bytes that the heap holds now */
  uint64_t limit;  /* that was passed, in bytes; 0 where the OS refuses, or tasks wait */
  uint64_t wanted; /* bytes that are about to be refused; else 0 */
  snug_heap* heap; /* the heap that the limit is of; NULL: the process's */
};
/* Frees what the program can do without. Returns other than 0 if it has freed something, and 0 if it has nothing more:
 * a request that is about to be refused is tried again after each call that has, and then calls again.
 *
 * It runs in the thread that asks for memory, inside malloc, realloc and their like, never inside free, with whatever
 * locks the program holds there: a lock that it cannot do without it should only try. Several threads may be in it at
 * once. It may call anything of snug's, but use no pool that is Locked or ThreadCached (snug/pool.h) and no
 * Synchronized resource (snug/resource.h), which may be in the midst of its own request (a compacting heap calls none
 * in its own requests); it is not called again inside itself, where a request beyond the limit is refused at once. With
 * SNUG_PRESSURE_STALL, and where a container is followed sometimes with SNUG_PRESSURE_SOFT, it runs in a thread of
 * snug's own. It must return (no longjmp, no exception); one that returns other than 0 without end keeps the request
 * from its end. Its malloc knows the scope of the thread (snug_heap_enter).
 *
 * GCC takes malloc for a function that calls nothing of the file that calls it, and may keep a static variable of that
 * file in a register meanwhile: what the callback changes it should reach by `argument`, or in another file. */
typedef int (*snug_pressure_callback)(const struct snug_pressure* pressure, void* argument);

/* Has `callback(…, argument)` called at such levels (SNUG_PRESSURE_... or'ed); at none if `levels` is 0: then it runs
 * in no other thread any more when this returns, so that it must not be called under a lock that the callback waits
 * for. A call from inside a callback does not wait. Callbacks are known by both pointers, and are called in no
 * promised order. Returns 0; or -1 with
 * errno EINVAL (no callback, an unknown level) or ENOSPC (beyond 16). Thread-safe. O(1), but for waiting. */
SNUG_API int snug_on_pressure(snug_pressure_callback callback, void* argument, unsigned levels);

/* Values of one moment, in bytes. What a later version adds is behind these; `size` is sizeof(struct snug_limits), set
 * by the caller. */
struct snug_limits {
  uint64_t size;
  uint64_t held;       /* that the heap holds; counted whether there are limits or not */
  uint64_t limit;      /* in force; 0: none */
  uint64_t soft_limit; /* the same */
  uint64_t asked;      /* how often callbacks were called, each counted */
  uint64_t refused;    /* requests that got NULL with ENOMEM, after all that; sizes beyond PTRDIFF_MAX do not count */
};
/* Fills `*limits`. Returns 0, or EINVAL for a `size` that is too small. O(1). */
SNUG_API int snug_get_limits(struct snug_limits* limits);

#ifdef __cplusplus
}
#endif

#endif /* SNUG_LIMITS_H */
