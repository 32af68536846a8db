/* profile.h: the sampled heap profile of a process that runs on snug: which call stacks have allocated what, and what
 * of it is live. It costs nothing until it is started, by the functions below or by SNUG_CONF=profile:512K.
 *
 * Blocks are chosen at random, one in so many bytes on average, whatever their sizes; each stands for `weight` blocks
 * of its size. The sums are estimates without a bias: of what is live as of what was allocated. With a mean of 512 KiB
 * a stack that has 512 MiB is right to about 3% (one part in the square root of its number of samples).
 *
 * Unless it says otherwise, a function is thread-safe, not async-signal-safe, and may be called at any time.
 */
#ifndef SNUG_PROFILE_H
#define SNUG_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SNUG_API
#if defined(__GNUC__)
#define SNUG_API __attribute__((visibility("default")))
#else
#define SNUG_API
#endif
#endif

/* The usual mean distance of samples, in bytes. */
#define SNUG_PROFILE_DISTANCE ((size_t)512 << 10)

/* Starts the profile, or goes on with another mean distance, from 1 KiB to 1 GiB, in bytes. What was sampled before
 * stays; blocks that were allocated while it was off are not in it. 0; or -1 with errno EINVAL (not such a distance),
 * ENOMEM, or ENOTSUP: the process checks its blocks (check:on, check:stacks), or trusts the sizes that it deletes with
 * (sized_delete:trust). Takes about a millisecond the first time. */
SNUG_API int snug_profile_start(size_t distance);
/* Takes no more samples. Those that there are leave the profile as their blocks are freed. */
SNUG_API void snug_profile_stop(void);
/* The mean distance, in bytes; 0 while it is off. */
SNUG_API size_t snug_profile_distance(void);

enum {
  /* Protocol buffers as pprof reads them, not compressed: allocated and live blocks and bytes of each stack, and those
   * live when most was; with mappings and build ids. No names: `go tool pprof` looks them up in the files. */
  SNUG_PROFILE_PPROF = 0,
  /* Lines "address;address;... bytes", outermost call first: what is live. */
  SNUG_PROFILE_COLLAPSED = 1
};
/* Writes the profile to a descriptor, from where it stands. 0; or -1 with errno ENODATA (never started), EINVAL (no
 * such format), ENOMEM, or what write() has answered. Other threads go on meanwhile; O(stacks). */
SNUG_API int snug_profile_write(int descriptor, int format);

/* ---- hooks ------------------------------------------------------------------------------------------------ */

struct snug_sample {
  void* block;
  size_t size;   /* bytes asked for; of a block up to 64 KiB rounded up to 16 */
  double weight; /* how many such blocks it stands for */
};

/* For a profiler that keeps stacks of its own. Both functions are called by the thread that allocates or frees the
 * block, on its stack, in the middle of its malloc or free; no lock is held, so that they may allocate (they are not
 * sampled meanwhile), but they must not throw, and must not wait for a thread that may be in one of them. Either may be
 * null. errno is kept for them.
 *
 * The caller of malloc may be anything: an interpreter in the middle of a change, a thread that it does not know, a
 * signal's handler, or the child of a fork, in which a lock that another thread held is held for ever. Hooks that share
 * only what atomics change are safe in all of these, and no compiler keeps those in registers around a malloc, as GCC
 * may other static variables of the file that calls it (snug/limits.h). The tag may be all that they keep of a sample:
 * a number of the stack and its bytes go into one (examples/python_profile does so), and then nothing is to be looked
 * up. */
struct snug_sampler {
  void* context;
  /* A block has been sampled. Its user does not have it yet. Returns a tag, 0 for none. */
  uint64_t (*sampled)(void* context, const struct snug_sample* sample);
  /* The block with the tag is about to be freed; or to be moved by realloc, which then samples anew. Not called for tag
   * 0, nor where realloc leaves a block in its place, of which the class, and so the size by a part of it, stays. */
  void (*freed)(void* context, uint64_t tag, void* block);
};

/* Sets the hooks, null for none. The struct is not copied, and must stay for the life of the process: it is called for
 * each block that it has tagged, also after another one is set. */
SNUG_API void snug_set_sampler(const struct snug_sampler* sampler);

#ifdef __cplusplus
}
#endif

#endif
