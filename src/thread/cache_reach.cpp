#include "thread/cache_reach.h"

#include "base/std_atomics.h"

namespace snug {

bool CacheReach::has_fences() {
  if (fences_ == Fences::kUnknown) fences_ = StdAtomics::prepare_membarrier() ? Fences::kGiven : Fences::kRefused;
  return fences_ == Fences::kGiven;
}

template <class Wanted>
void CacheReach::take(Wanted wanted) {
  if (is_taking_.exchange(true, std::memory_order_acquire)) return;
  const auto with_caches = [this](auto act) {
    registry_.for_each([&](SlabHeap& heap) {
      if (heap.cache() == nullptr) return;
      SlabHeap::Visit visit(heap);
      if (ThreadCache* cache = heap.cache(); cache != nullptr) act(*cache);
    });
  };
  bool any = false;
  if (has_fences()) with_caches([&](ThreadCache& cache) { any = (wanted(cache) && cache.raise_bases()) || any; });
  if (any && StdAtomics::membarrier()) with_caches([](ThreadCache& cache) { cache.take_raised(); });
  is_taking_.store(false, std::memory_order_release);
}

void CacheReach::take_all() {
  take([](ThreadCache&) { return true; });
}

bool CacheReach::take_still() {
  bool others = false;
  take([&](ThreadCache& cache) {
    const bool still = cache.has_been_still();
    others = others || !still;
    return still;
  });
  return others;
}

void CacheReach::after_fork_in_child() {
  is_taking_.store(false, std::memory_order_relaxed);
  fences_ = Fences::kUnknown;
}

}  // namespace snug
