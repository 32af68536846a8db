#include "thread/cache_reach.h"

#include "base/pause.h"
#include "base/std_atomics.h"

namespace snug {

bool CacheReach::has_fences() {
  if (fences_.load(std::memory_order_relaxed) == Fences::kUnknown)
    fences_.store(StdAtomics::prepare_membarrier() ? Fences::kGiven : Fences::kRefused, std::memory_order_relaxed);
  return fences_.load(std::memory_order_relaxed) == Fences::kGiven;
}

// begin() has been true.
template <class Wanted>
void CacheReach::take(Wanted wanted) {
  bool any = false;
  for_each_cache([&](ThreadCache& cache) { any = (wanted(cache) && cache.raise_bases()) || any; });
  // Where the kernel does not make the fences, owners find their bases raised and lower them.
  if (any && has_fences() && StdAtomics::membarrier()) for_each_cache([](ThreadCache& cache) { cache.take_raised(); });
  is_taking_.store(false, std::memory_order_release);
}

void CacheReach::take_all() {
  while (!is_refused() && !begin()) pause_a_moment();
  if (!is_refused()) take([](ThreadCache&) { return true; });
}

void CacheReach::take_still() {
  if (!is_refused() && begin()) take([](ThreadCache& cache) { return cache.has_been_still() && cache.has_moved(); });
}

bool CacheReach::ages() {
  bool any = false;
  if (!is_refused()) for_each_cache([&](const ThreadCache& cache) { any = any || cache.has_moved(); });
  return any;
}

void CacheReach::after_fork_in_child() {
  is_taking_.store(false, std::memory_order_relaxed);
  fences_.store(Fences::kUnknown, std::memory_order_relaxed);
}

}  // namespace snug
