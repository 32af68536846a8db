#include "allocator/moving.h"

#include <stdint.h>

#include "allocator/blocks.h"
#include "base/algorithm.h"
#include "base/bits.h"

namespace snug {
namespace {

constexpr char kCall[] = "should_move";
constexpr size_t kAtOnce = HeapRegistry::kMostAsked;

// True if the block lies in one of malloc's slabs. Ends the process if it lies nowhere, or is what the thread has just
// freed.
bool has_slab(const void* block) {
  if (block == nullptr) return false;
  const size_t scaled_class = class_at(block);
  if (scaled_class == 0)
    usable_size(block, kCall);  // ends the process if it is no large block either
  else if (is_newest(head_of(relative_thread_state(), scaled_class), block))
    die_of_misuse(kCall, block, kAlreadyFree);
  return scaled_class != 0;
}

}  // namespace

size_t should_move_batch(void* const* blocks, size_t count, unsigned char* answers) {
  size_t found = 0;
  for (size_t asked; count != 0; blocks += asked, answers += asked, count -= asked) {
    asked = min(count, kAtOnce);
    uint64_t in_slabs = 0;
    for (size_t i = 0; i != asked; ++i) in_slabs |= uint64_t{has_slab(blocks[i])} << i;
    ThreadCache* const cache = thread_state.cache;
    const uint64_t which =
        allocator.registry.which_should_move(blocks, in_slabs, cache != nullptr ? &cache->heap() : nullptr, kCall);
    for (size_t i = 0; i != asked; ++i) answers[i] = static_cast<unsigned char>(which >> i & 1);
    found += count_ones(which);
  }
  return found;
}

}  // namespace snug
