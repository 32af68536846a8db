// HeapCache: what a heap knows of the cache of a thread that it serves (thread/thread_cache.h).
#pragma once

#include <stdint.h>

#include "base/list.h"

namespace snug {

// The heap's lock guards it.
struct HeapCache {
  ListLink<HeapCache> in_heap;
  uint64_t last_pass = 0;  // number of the last pass over all caches that reached it (thread/cache_revocation.h)
};

using HeapCaches = List<HeapCache, &HeapCache::in_heap>;

}  // namespace snug
