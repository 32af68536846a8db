#include "slab/outbox.h"

#include <string.h>

#include "base/algorithm.h"
#include "slab/slab_heap.h"

namespace snug {

void Outbox::add(void* const* blocks, size_t count, uint16_t owner) {
  while (count != 0) {
    if (count_ == kCapacity) send();
    const size_t number = min(count, kCapacity - count_);
    memcpy(blocks_ + count_, blocks, number * sizeof(void*));
    fill_n(owners_ + count_, number, owner);
    count_ += number;
    blocks += number;
    count -= number;
  }
}

// Chains the blocks of each owner in their order. The chain is the owner's id modulo the number of chains, so that two
// owners may share one.
void Outbox::send() {
  constexpr uint8_t kEnd = kCapacity;
  uint8_t first[kCapacity];
  uint8_t next[kCapacity];
  memset(first, kEnd, sizeof first);
  for (size_t i = count_; i-- != 0;) {
    uint8_t& chain = first[owners_[i] % kCapacity];
    next[i] = chain;
    chain = static_cast<uint8_t>(i);
  }
  for (size_t i = 0; i != count_; ++i) {
    uint8_t& chain = first[owners_[i] % kCapacity];
    if (chain == kEnd) continue;  // sent with an earlier block
    void* blocks[kCapacity];
    size_t count = 0;
    const uint16_t owner = owners_[chain];
    uint8_t others = kEnd;
    uint8_t* last = &others;
    for (uint8_t member = chain; member != kEnd; member = next[member]) {
      if (owners_[member] == owner) {
        blocks[count++] = blocks_[member];
      } else {
        *last = member;
        last = &next[member];
      }
    }
    *last = kEnd;
    chain = others;
    heap_.lock().assume_held();
    heap_.send(size_class_, blocks, count, owner);
  }
  count_ = 0;
}

}  // namespace snug
