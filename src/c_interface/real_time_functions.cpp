// The C interface of threads with deadlines (include/snug/realtime.h).
#include <errno.h>
#include <stddef.h>

#include "allocator/real_time_blocks.h"
#include "allocator/refusal.h"
#include "base/compiler.h"
#include "base/errno_keeper.h"
#include "snug/realtime.h"

using namespace snug;

extern "C" {

SNUG_EXPORT int snug_realtime_begin(size_t bytes) {
  const ErrnoKeeper keeper;
  if (!allocator.ensure_open()) return ENOMEM;
  if (allocator.is_checked()) return 0;
  if (allocator.config.sized_delete == SizedDelete::kTrust) return ENOTSUP;
  const int error = allocator.real_time.make(bytes);
  if (error != ENOMEM || is_hopeless(bytes)) return error;
  give_back(0, false);  // what the heap has empty may make room
  return allocator.real_time.make(bytes);
}

SNUG_EXPORT int snug_realtime_enter(size_t bytes) {
  const ErrnoKeeper keeper;
  return announce_thread(bytes);
}

SNUG_EXPORT int snug_realtime_leave() {
  const ErrnoKeeper keeper;
  return dismiss_thread();
}

SNUG_EXPORT int snug_realtime_get_stats(snug_realtime_stats* stats) {
  const size_t size = stats->size;
  if (size < sizeof *stats) return EINVAL;
  const RealTimeFigures figures = allocator.real_time.figures();
  *stats = {};
  stats->size = size;
  stats->bytes = figures.bytes;
  stats->bytes_in_parts = figures.bytes_in_parts;
  stats->threads = figures.threads;
  stats->parts = figures.parts;
  stats->refusals = figures.refusals;
  stats->threads_refused = figures.threads_refused;
  stats->locked = figures.locked ? 1 : 0;
  if (const ThreadPart* const part = own_part; part != nullptr) {
    stats->own_bytes = part->bytes();
    stats->own_free = part->bytes_free();
    stats->own_least_free = part->bytes_least_free();
  }
  return 0;
}

}  // extern "C"
