// Outbox: the parcels being filled in one flush, by owner. A flush meets few owners: with more than there is room for,
// one goes out half full; the others go when the outbox ends. Used by the thread that owns the heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "slab/inbox.h"

namespace snug {

class SlabHeap;

class Outbox {
 public:
  explicit Outbox(SlabHeap& heap) : heap_(heap) {}
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Takes a free block of `bytes` that belongs to the heap with the id `owner`.
  void add(void* block, uint16_t owner, uint32_t bytes) {
    // Most often the owner is that of the block before.
    if (last_ == nullptr || last_->owner != owner || last_->parcel == nullptr) last_ = &entry_for(owner);
    Parcel* parcel = last_->parcel;
    if (parcel == nullptr) return send_lone(block, owner, bytes);
    parcel->blocks[parcel->count++] = block;
    parcel->bytes += bytes;
    if (parcel->full()) send(*last_);
  }

 private:
  static constexpr size_t kOwners = 8;
  struct Entry {
    Parcel* parcel = nullptr;
    uint16_t owner = 0;
  };

  Entry& entry_for(uint16_t owner);
  void send(Entry& entry);
  void send_lone(void* block, uint16_t owner, uint32_t bytes);

  SlabHeap& heap_;
  Entry entries_[kOwners];
  Entry* last_ = nullptr;
  size_t victim_ = 0;
};

}  // namespace snug
