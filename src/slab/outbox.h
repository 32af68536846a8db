// Outbox: the parcels being filled in one flush of one class, by owner. A flush meets few owners: with more than there
// is room for, one goes out half full; the others go when the outbox ends. Used by the thread that owns the heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "slab/inbox.h"

namespace snug {

class SlabHeap;

class Outbox {
 public:
  Outbox(SlabHeap& heap, size_t size_class) : heap_(heap), size_class_(static_cast<uint32_t>(size_class)) {}
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Takes free blocks of the class that belong to the heap with the id `owner`.
  void add(void* const* blocks, size_t count, uint16_t owner);

 private:
  static constexpr size_t kOwners = 8;
  struct Entry {
    Parcel* parcel;
    uint16_t owner;
  };

  Entry* entry_for(uint16_t owner);
  void send(Entry* entry);

  SlabHeap& heap_;
  const uint32_t size_class_;
  size_t count_ = 0;
  size_t victim_ = 0;
  Entry entries_[kOwners];  // the first `count_`, each with a parcel that is neither empty nor full between calls
};

}  // namespace snug
