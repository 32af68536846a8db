#include "heap/large_owners.h"

#include "base/bits.h"

namespace snug {

HeapLarge* LargeOwners::make() {
  if (chains_.load(kAcquire) == nullptr) {
    void* const fresh = arena_.map(kChains * sizeof(HeapLarge*));
    if (fresh == nullptr) return nullptr;
    HeapLarge** expected = nullptr;
    if (!chains_.compare_exchange_strong(expected, static_cast<HeapLarge**>(fresh), kRelease))
      arena_.release(fresh, kChains * sizeof(HeapLarge*));
  }
  LockGuard guard(lock_);
  return records_.make();
}

HeapLarge*& LargeOwners::chain_of(const void* start) const {
  // Large blocks start at multiples of an OS page; Fibonacci hashing spreads what remains.
  const uint64_t hash = (address_of(start) >> 12) * 0x9E3779B97F4A7C15ull;
  return chains_.load(kAcquire)[hash >> 32 & (kChains - 1)];
}

void LargeOwners::insert(HeapLarge* record) {
  LockGuard guard(lock_);
  HeapLarge*& chain = chain_of(record->start);
  record->next = chain;
  chain = record;
  size_.store(size() + 1, kRelaxed);
}

HeapLarge** LargeOwners::link_to(const void* start) {
  HeapLarge** link = &chain_of(start);
  while (*link != nullptr && (*link)->start != start) link = &(*link)->next;
  return link;
}

HeapLarge* LargeOwners::find(const void* start) {
  if (empty()) return nullptr;
  LockGuard guard(lock_);
  return *link_to(start);
}

bool LargeOwners::has(const HeapLarge& record) {
  LockGuard guard(lock_);
  const HeapLarge* at = chain_of(record.start);
  while (at != nullptr && at != &record) at = at->next;
  return at != nullptr;
}

HeapLarge* LargeOwners::take(const void* start) {
  if (empty()) return nullptr;
  LockGuard guard(lock_);
  HeapLarge** const link = link_to(start);
  HeapLarge* const record = *link;
  if (record == nullptr) return nullptr;
  *link = record->next;
  size_.store(size() - 1, kRelaxed);
  return record;
}

void LargeOwners::recycle(HeapLarge* record) {
  LockGuard guard(lock_);
  records_.recycle(record);
}

const char* LargeOwners::check() {
  LockGuard guard(lock_);
  size_t records = 0;
  HeapLarge* const* const chains = chains_.load(kAcquire);
  for (size_t i = 0; chains != nullptr && i != kChains; ++i)
    for (const HeapLarge* record = chains[i]; record != nullptr; record = record->next)
      if (&chain_of(record->start) != &chains[i] || ++records > size())
        return "user heaps: a large block is in the wrong chain";
  return records == size() ? nullptr : "user heaps: the count of large blocks is wrong";
}

}  // namespace snug
