/* realtime.h: malloc with a worst case, for threads with deadlines.
 *
 *   snug_realtime_begin(256 << 20);     // once: a region, backed by memory and locked if the process may
 *   snug_realtime_enter(16 << 20);      // in the thread with deadlines, before these count
 *   void* block = malloc(100);          // from the thread's part of the region: no system call, no lock, no loop
 *   free(block);                        // from any thread
 *
 * From enter to leave the calling thread's malloc and its family, C++'s new among them, take from the thread's own part
 * of the region, whatever the size. What the part has no room for is refused, with errno ENOMEM; nothing falls back on
 * ordinary memory. docs/real-time.md states the longest malloc, free and free by another thread in instructions.
 *
 * Any thread may free, resize and look at a block of the region as at any other. One that another thread has freed
 * comes back to its part when the part's thread allocates, two with each allocation. An announced thread that frees a
 * block of ordinary memory of up to 256 KiB leaves it to other threads.
 *
 * SNUG_CONF=profile_rt:256M makes the region at the start, and announces each thread of a real-time policy by itself.
 * With check:on begin and enter succeed, and malloc goes on as it was. Sizes are in bytes; functions that say nothing
 * else return 0 or an error number, and leave errno alone. Thread-safe, not async-signal-safe.
 */
#ifndef SNUG_REALTIME_H
#define SNUG_REALTIME_H

#include <stddef.h>
#include <stdint.h>

#include "snug/snug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the process's region, of `bytes` rounded up, at least 1 MiB; there is one, until the process ends. Writes or
 * locks every page of it, and counts in the process's limit (snug/limits.h). EINVAL: less than 1 MiB. EALREADY: there
 * is one. ENOMEM: the kernel refuses, or that limit. ENOTSUP: with sized_delete:trust, by which its blocks would be
 * cached unseen. O(bytes). */
SNUG_API int snug_realtime_begin(size_t bytes);

/* Announces the calling thread: gives it a part of `bytes` of the region, its record of about 8 KiB included, rounded
 * up to a 128th of the region, or to 64 KiB if that is more. 0 bytes: a 16th of the region. At most 64 parts. EALREADY:
 * it is announced. EINVAL: there is no region. ENOMEM: no part of that length is left. Not for a moment with a
 * deadline: takes a lock, and brings the thread's cache home. O(parts + cached blocks). */
SNUG_API int snug_realtime_enter(size_t bytes);

/* Ends that; the thread's end does too. Blocks of the part stay valid. The part serves the next thread that enters:
 * whole once they are freed, and with them inside if nothing else is left. EINVAL: the thread is not announced. */
SNUG_API int snug_realtime_leave(void);

/* What a later version adds is behind these; `size` is sizeof(struct snug_realtime_stats), set by the caller. */
struct snug_realtime_stats {
  size_t size;
  size_t bytes;             /* of the region; 0: there is none */
  size_t bytes_in_parts;    /* that threads have, or have left with blocks inside */
  uint64_t threads;         /* announced now */
  uint64_t parts;           /* that threads have, or have left with blocks inside */
  uint64_t refusals;        /* requests that a part had no room for, since the region was made */
  uint64_t threads_refused; /* threads that the region had no part for */
  size_t own_bytes;         /* of the calling thread's part, without records; 0: it is not announced */
  size_t own_free;          /* bytes of it that are free now; blocks on their way back are not */
  size_t own_least_free;    /* the fewest that were, since the part was made */
  int locked;               /* 1: the kernel never takes a page of the region away; 0: it may (ulimit -l) */
};
/* Fills `*stats`. 0, or EINVAL for a `size` that is too small. O(parts + blocks of the own part, and of
 * those that were left). */
SNUG_API int snug_realtime_get_stats(struct snug_realtime_stats* stats);

#ifdef __cplusplus
}
#endif

#endif /* SNUG_REALTIME_H */
