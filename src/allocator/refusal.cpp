#include "allocator/refusal.h"

#include "base/bits.h"
#include "thread/thread_cache.h"

namespace snug {

bool give_back(size_t pad, bool from_others) {
  if (ThreadCache* cache = thread_state.cache; cache != nullptr) cache->flush_all();
  allocator.caches.reap_orphans();
  if (from_others) allocator.revocation.take_all();
  bool any = allocator.user_heaps.trim() != 0;
  any = allocator.registry.trim() != 0 || any;
  any = allocator.mappings.trim(pad) || any;
  any = allocator.spans.trim(pad) || any;
  return any;
}

void* take_longer(size_t size_class) {
  if (!allocator.is_plain() || allocator.config.sized_delete == SizedDelete::kTrust) return nullptr;
  const ClassTable& table = *allocator.table;
  const size_t size = table.classes[size_class].block_size;
  for (size_t longer = size_class + 1; longer < table.count; ++longer) {
    if (!is_aligned(table.classes[longer].block_size, size & -size)) continue;
    if (void* block = allocator.registry.take_anywhere(longer); block != nullptr) return block;
  }
  return nullptr;
}

}  // namespace snug
