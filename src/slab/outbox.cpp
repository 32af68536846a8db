#include "slab/outbox.h"

#include <algorithm>
#include <cstring>

#include "slab/slab_heap.h"

namespace snug {

Outbox::~Outbox() {
  while (count_ != 0) send(&entries_[count_ - 1]);
}

void Outbox::add(void* const* blocks, size_t count, uint16_t owner) {
  while (count != 0) {
    Entry* entry = entry_for(owner);
    if (entry == nullptr) {
      heap_.post_lone(*blocks++, owner, size_class_);
      --count;
      continue;
    }
    Parcel* parcel = entry->parcel;
    const size_t number = std::min(count, Parcel::kCapacity - parcel->count);
    std::memcpy(parcel->blocks + parcel->count, blocks, number * sizeof(void*));
    parcel->count += static_cast<uint32_t>(number);
    blocks += number;
    count -= number;
    if (parcel->full()) send(entry);
  }
}

// The entry of this owner; null if no memory can be had for a parcel.
Outbox::Entry* Outbox::entry_for(uint16_t owner) {
  for (size_t i = 0; i < count_; ++i)
    if (entries_[i].owner == owner) return &entries_[i];
  if (count_ == kOwners) send(&entries_[victim_++ % kOwners]);
  Parcel* parcel = heap_.new_parcel();
  if (parcel == nullptr) return nullptr;
  parcel->size_class = size_class_;
  entries_[count_] = {parcel, owner};
  return &entries_[count_++];
}

void Outbox::send(Entry* entry) {
  heap_.post(entry->parcel, entry->owner);
  *entry = entries_[--count_];
}

}  // namespace snug
