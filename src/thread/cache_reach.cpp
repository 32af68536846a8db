#include "thread/cache_reach.h"

#include "base/std_atomics.h"

namespace snug {
bool CacheReach::has_fences() {
  if (fences_.load(std::memory_order_relaxed) == Fences::kUnknown)
    fences_.store(StdAtomics::prepare_membarrier() ? Fences::kGiven : Fences::kRefused, std::memory_order_relaxed);
  return fences_.load(std::memory_order_relaxed) == Fences::kGiven;
}

template <class Wanted>
void CacheReach::take(Wanted wanted) {
  if (fences_.load(std::memory_order_relaxed) == Fences::kRefused) return;
  if (is_taking_.exchange(true, std::memory_order_acquire)) return;
  const auto with_caches = [this](auto act) {
    registry_.for_each([&](SlabHeap& heap) {
      if (heap.cache() == nullptr) return;
      SlabHeap::Visit visit(heap);
      if (ThreadCache* cache = heap.cache(); cache != nullptr) act(*cache);
    });
  };
  bool any = false;
  with_caches([&](ThreadCache& cache) { any = (wanted(cache) && cache.raise_bases()) || any; });
  // Where the kernel does not make the fences, owners find their bases raised and lower them.
  if (any && has_fences() && StdAtomics::membarrier()) with_caches([](ThreadCache& cache) { cache.take_raised(); });
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
  fences_.store(Fences::kUnknown, std::memory_order_relaxed);
}

}  // namespace snug
