#include "slab/outbox.h"

#include "slab/slab_heap.h"

namespace snug {

Outbox::~Outbox() {
  for (Entry& entry : entries_)
    if (entry.parcel != nullptr) send(entry);
}

// The entry of this owner, with a parcel unless no memory can be had.
Outbox::Entry& Outbox::entry_for(uint16_t owner) {
  Entry* chosen = nullptr;
  for (Entry& entry : entries_) {
    if (entry.parcel == nullptr)
      chosen = &entry;
    else if (entry.owner == owner)
      return entry;
  }
  if (chosen == nullptr) {
    chosen = &entries_[victim_++ % kOwners];
    send(*chosen);
  }
  chosen->owner = owner;
  chosen->parcel = heap_.new_parcel();
  return *chosen;
}

void Outbox::send_lone(void* block, uint16_t owner, uint32_t bytes) { heap_.post_lone(block, owner, bytes); }

void Outbox::send(Entry& entry) {
  Parcel* parcel = entry.parcel;
  entry.parcel = nullptr;
  heap_.post(parcel, entry.owner);
}

}  // namespace snug
