#include "allocator/batch.h"

#include "allocator/blocks.h"
#include "allocator/plain_blocks.h"
#include "allocator/refill.h"
#include "allocator/sampled_blocks.h"
#include "base/errno_keeper.h"

namespace snug {
namespace {

// How many blocks from the first on have its class.
size_t row_of_class(size_t scaled_class, void* const* blocks, size_t count) {
  size_t row = 1;
  while (row != count && class_at(blocks[row]) == scaled_class) ++row;
  return row;
}

}  // namespace

size_t allocate_batch(size_t size, void** blocks, size_t count) noexcept {
  for (size_t done = 0; done != count;) {
    // The first block comes by the usual path, which starts what has to be started, and handles a shortage of memory.
    void* block = allocate(size);
    if (block == nullptr) return done;
    blocks[done++] = block;
    ThreadCache* cache = thread_state.cache;
    if (cache == nullptr || allocator.is_checked() || size > allocator.table->max_size || scope_heap != nullptr ||
        own_part != nullptr)
      continue;
    allocator.peak.look_as_due();
    const size_t size_class = allocator.table->class_of(size);
    size_t most = count - done;
    if (allocator.profile.is_on() && most != 0) [[unlikely]]
      if (void* const sample = take_sample_before(size_class, size, &most); sample != nullptr) {
        blocks[done++] = counted(sample);
        continue;
      }
    const size_t taken = cache->take_batch(size_class, blocks + done, most);
    for (size_t i = 0; allocator.peak.is_wanted() && i != taken; ++i) noted(blocks[done + i], size);
    done += taken;
    allocator.maintain();
  }
  return count;
}

void deallocate_batch(void* const* blocks, size_t count) noexcept {
  ErrnoKeeper keeper;
  for (size_t done = 0; done != count;) {
    ThreadCache* cache = thread_state.cache;
    const size_t scaled_class = class_at(blocks[done]);
    const size_t row = scaled_class != 0 && cache != nullptr && own_part == nullptr
                           ? row_of_class(scaled_class, blocks + done, count - done)
                           : 1;
    if (row == 1)
      deallocate_slow(blocks[done]);  // handles every case
    else
      cache->give_batch(scaled_class / kClassScale, blocks + done, row);
    done += row;
  }
}

}  // namespace snug
