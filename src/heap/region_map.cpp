#include "heap/region_map.h"

namespace snug {

template <class T>
bool RegionMap::is_mapped(Atomic<T*>& place, size_t bytes) {
  if (place.load(kAcquire) != nullptr) return true;
  void* const fresh = arena_.map(bytes);
  if (fresh == nullptr) return false;
  T* expected = nullptr;
  if (!place.compare_exchange_strong(expected, static_cast<T*>(fresh), kRelease)) arena_.release(fresh, bytes);
  return true;
}

bool RegionMap::has_leaves(size_t first, size_t end) {
  if (!is_mapped(leaves_, kLeaves * sizeof(Atomic<Leaf*>))) return false;
  for (size_t leaf = first / kPagesPerLeaf; leaf <= (end - 1) / kPagesPerLeaf; ++leaf)
    if (!is_mapped(leaves_.load(kAcquire)[leaf], sizeof(Leaf))) return false;
  return true;
}

RegionMap::Claim RegionMap::claim(size_t first, size_t end) {
  if (!has_leaves(first, end)) return Claim::kRefused;
  LockGuard guard(lock_);
  bool is_free = true;
  for_each_word(first, end - first, [&](size_t word, uint64_t mask) {
    is_free = is_free && (leaf_of(word * 64).owned[word_of(word * 64)].load(kRelaxed) & mask) == 0;
  });
  if (!is_free) return Claim::kOverlaps;
  mark(&Leaf::owned, first, end - first, true);
  return Claim::kDone;
}

void RegionMap::disclaim(size_t first, size_t end) {
  mark(&Leaf::taken, first, end - first, false);
  LockGuard guard(lock_);
  mark(&Leaf::owned, first, end - first, false);
}

// Of the bits `taken`, each flipped where `flipped` has a one.
size_t RegionMap::first_with(uint64_t flipped, size_t from, size_t end) const {
  while (from < end) {
    const uint64_t word = (leaf_of(from).taken[word_of(from)].load(kRelaxed) ^ flipped) >> (from % 64);
    if (word != 0) return min(from + trailing_zeros(word), end);
    from = round_down(from, 64) + 64;
  }
  return end;
}

size_t RegionMap::free_before(size_t page, size_t from) const {
  while (page > from) {
    const size_t last = page - 1;
    const uint64_t word = leaf_of(last).taken[word_of(last)].load(kRelaxed) << (63 - last % 64);  // `last` is on top
    if (word != 0) return max(from, page - leading_zeros(word));
    page = round_down(last, 64);
  }
  return from;
}

void RegionMap::mark(Bits Leaf::* bits, size_t first, size_t count, bool value) {
  for_each_word(first, count, [&](size_t word, uint64_t mask) {
    Atomic<uint64_t>& its = (leaf_of(word * 64).*bits)[word_of(word * 64)];
    if (value)
      its.fetch_or(mask, kRelaxed);
    else
      its.fetch_and(~mask, kRelaxed);
  });
}

}  // namespace snug
