#include "allocator/refusal.h"

#include "base/bits.h"
#include "thread/thread_cache.h"

namespace snug {

bool give_back(size_t pad, bool from_others) {
  if (ThreadCache* cache = thread_state.cache; cache != nullptr) cache->flush_all();
  allocator.take_deferred_home();
  allocator.caches.reap_orphans();
  if (from_others) allocator.revocation.take_all();
  bool any = allocator.user_heaps.trim() != 0;
  any = allocator.registry.trim() != 0 || any;
  any = allocator.mappings.trim(pad) || any;
  any = allocator.spans.purge(pad, SIZE_MAX) != 0 || any;
  return any;
}

bool LastResorts::next() {
  if (thread_state.asked != 0) return false;
  if (!has_looked_around_) {
    has_looked_around_ = true;
    if (allocator.follows_container()) allocator.bound_footprint();
    if (allocator.footprint.limit() != SIZE_MAX) return give_back(0, true), true;
  }
  const bool is_at_limit = allocator.footprint.refusals() != refusals_;
  const size_t limit = is_at_limit ? allocator.footprint.limit() : 0;
  if (!allocator.pressure.ask(
          {sizeof(snug_pressure), SNUG_PRESSURE_HARD, allocator.footprint.held(), limit, size_, nullptr}))
    return false;
  give_back(0, false);
  refusals_ = allocator.footprint.refusals();
  return true;
}

void* take_longer(size_t size_class) {
  if (allocator.is_checked() || allocator.profile.is_on() || allocator.config.sized_delete == SizedDelete::kTrust)
    return nullptr;
  const ClassTable& table = *allocator.table;
  const size_t size = table.classes[size_class].block_size;
  for (size_t longer = size_class + 1; longer < table.count; ++longer) {
    if (!is_aligned(table.classes[longer].block_size, size & -size)) continue;
    if (void* block = allocator.registry.take_anywhere(longer); block != nullptr) return block;
  }
  return nullptr;
}

}  // namespace snug
