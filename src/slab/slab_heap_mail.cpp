// SlabHeap's mail: parcels that come, that wait for a refill of their class, and that go.
#include <cstring>

#include "slab/block_check.h"
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"

namespace snug {
namespace {

// Parcels that may wait for a refill, and the bytes of the blocks in them. One with few blocks is opened at once.
constexpr uint32_t kWaitingParcels = 128;
constexpr size_t kWaitingBytes = size_t{512} << 10;
constexpr uint32_t kWorthWaiting = 16;
// Empty parcels that a heap keeps for sending.
constexpr uint32_t kParcelsKept = 16;

}  // namespace

void SlabHeap::empty_inbox() {
  sort_mail(0);
  open_waiting();
}

void SlabHeap::take_mail() { sort_mail(kWaitingParcels); }

// Takes the mail in. Up to `most_waiting` parcels wait unopened for a refill of their class.
void SlabHeap::sort_mail(uint32_t most_waiting) {
  for (uintptr_t item = inbox_.take_all(); item != 0;) {
    const uintptr_t next = Inbox::next_of(item);
    if (Inbox::is_lone(item)) {
      void* block = Inbox::lone_block(item);
      const size_t size_class = class_of(block);
      if (size_class == 0) die_of_stranger(registry_.window(), block);
      put_mail_home(&block, 1, size_class);
    } else {
      Parcel* parcel = Inbox::parcel(item);
      if (waiting_count_ < most_waiting && parcel->count >= kWorthWaiting &&
          waiting_bytes_ + bytes_in(*parcel) <= kWaitingBytes)
        let_wait(parcel);
      else
        open_parcel(parcel);
    }
    item = next;
  }
}

size_t SlabHeap::bytes_in(const Parcel& parcel) const {
  return parcel.count * size_t{registry_.table().classes[parcel.size_class].block_size};
}

void SlabHeap::let_wait(Parcel* parcel) {
  waiting_bytes_ += bytes_in(*parcel);
  ++waiting_count_;
  parcel->next = address_of(waiting_);
  waiting_ = parcel;
}

void SlabHeap::open_waiting() {
  while (Parcel* parcel = waiting_) {
    waiting_ = at<Parcel>(parcel->next);
    open_parcel(parcel);
  }
  waiting_bytes_ = 0;
  waiting_count_ = 0;
}

// Blocks of a parcel that waits go straight into the cache: for their slabs they have never come back. They are looked
// at all the same. 0 if none waits, or if a slab has gone to another heap meanwhile.
size_t SlabHeap::take_waiting(size_t size_class, void** end, size_t want) {
  Parcel* before = nullptr;
  Parcel* parcel = waiting_;
  while (parcel != nullptr && parcel->size_class != size_class) {
    before = parcel;
    parcel = at<Parcel>(parcel->next);
  }
  if (parcel == nullptr) return 0;
  const size_t count = want < parcel->count ? want : parcel->count;
  const size_t left = parcel->count - count;
  const size_t bytes = count * registry_.table().classes[size_class].block_size;
  const bool ours = are_live_and_ours(size_class, parcel->blocks + left, count);
  if (ours) {
    std::memcpy(end - count, parcel->blocks + left, count * sizeof(void*));
    parcel->count = static_cast<uint32_t>(left);
    waiting_bytes_ -= bytes;
    count_as_received(count, bytes);
    for (size_t i = 0; i != count; ++i) prefetch_for_write(parcel->blocks[left + i]);
  }
  if (ours && left != 0) return count;
  if (before == nullptr)
    waiting_ = at<Parcel>(parcel->next);
  else
    before->next = parcel->next;
  --waiting_count_;
  if (ours) {
    recycle(parcel);
    return count;
  }
  waiting_bytes_ -= bytes_in(*parcel);
  open_parcel(parcel);
  return 0;
}

// Ends the process if one of the blocks is none of the class, is free, or comes twice: as if all went into their slabs
// and out again. False if one of them belongs to another heap.
bool SlabHeap::are_live_and_ours(size_t size_class, void* const* blocks, size_t count) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  Slab* slabs[Parcel::kCapacity];
  Row rows[Parcel::kCapacity];
  size_t row = 0;
  size_t seen = 0;
  while (seen != count) {
    const PageTag tag = tag_of_block(registry_.window(), size_class, blocks[seen]);
    if (tag.owner() != id_) break;
    slabs[row] = tag.record<Slab>();
    rows[row] = put_back_row(*slabs[row], sizes, blocks + seen, count - seen);
    seen += rows[row++].count;
  }
  while (row-- != 0) slabs[row]->take_row(rows[row].slot, rows[row].count);
  return seen == count;
}

void SlabHeap::open_parcel(Parcel* parcel) {
  put_mail_home(parcel->blocks, parcel->count, parcel->size_class);
  recycle(parcel);
}

// Those whose slab another heap has adopted meanwhile are sent on.
void SlabHeap::put_mail_home(void* const* blocks, size_t count, size_t size_class) {
  count_as_received(count, count * registry_.table().classes[size_class].block_size);
  flush(size_class, blocks, count);
}

void SlabHeap::count_as_received(size_t blocks, size_t bytes) {
  blocks_mailed_.subtract(blocks);
  bytes_mailed_.subtract(bytes);
}

size_t SlabHeap::class_of(const void* block) const {
  const Window& window = registry_.window();
  return window.class_at(window.index_of(block)) / kClassScale;
}

void SlabHeap::post(Parcel* parcel, uint16_t owner) {
  parcels_sent_.add(1);
  blocks_mailed_.add(parcel->count);
  bytes_mailed_.add(bytes_in(*parcel));
  registry_.send(parcel, owner);
}

void SlabHeap::post_lone(void* block, uint16_t owner, size_t size_class) {
  registry_.send_lone(block, owner, registry_.table().classes[size_class].block_size);
}

Parcel* SlabHeap::new_parcel() {
  Parcel* parcel = parcels_;
  if (parcel != nullptr) {
    parcels_ = at<Parcel>(parcel->next);
    --parcel_count_;
  } else {
    parcel = registry_.take_parcel();
    if (parcel == nullptr) return nullptr;
  }
  parcel->next = 0;
  parcel->count = 0;
  return parcel;
}

void SlabHeap::recycle(Parcel* parcel) {
  if (parcel_count_ >= kParcelsKept) {
    registry_.give_parcel(parcel);
    return;
  }
  parcel->next = address_of(parcels_);
  parcels_ = parcel;
  ++parcel_count_;
}

}  // namespace snug
