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
  void add(void* block, uint16_t owner, uint32_t bytes);

 private:
  static constexpr size_t kOwners = 8;
  struct Entry {
    Parcel* parcel = nullptr;
    uint16_t owner = 0;
  };

  Entry& entry_for(uint16_t owner);
  void send(Entry& entry);

  SlabHeap& heap_;
  Entry entries_[kOwners];
  Entry* last_ = nullptr;
  size_t victim_ = 0;
};

}  // namespace snug
