#include "slab/heap_registry.h"

#include <iterator>
#include <new>

#include "os/memory.h"
#include "os/process.h"

namespace snug {
namespace {

// Slabs whose holes are purged in one hold of their heap's lock, for which others may be waiting.
constexpr size_t kSlabsAtOnce = 8;

// Bytes of empty slabs that all heaps together keep beyond the usual.
constexpr size_t kMostExtra = size_t{32} << 20;

}  // namespace

bool HeapRegistry::open(const ClassTable& table) {
  table_ = &table;
  if (heaps_ == nullptr) heaps_ = static_cast<std::atomic<SlabHeap*>*>(os::map(kMaxHeaps * sizeof *heaps_, 1));
  if (heaps_ == nullptr) return false;
  LockGuard guard(lock_);
  if (shared_ == nullptr) shared_ = make_heap();
  if (shared_ == nullptr) return false;
  shared_->is_shared_ = true;
  shared_->abandoned_.store(true, std::memory_order_seq_cst);
  return true;
}

SlabHeap* HeapRegistry::make_heap() {
  // Ids begin at 1: a page tag that names no slab has owner 0.
  const size_t id = heap_count_.load(std::memory_order_relaxed) + 1;
  if (id == kMaxHeaps) return nullptr;
  void* memory = arena_.allocate(sizeof(SlabHeap));
  if (memory == nullptr) return nullptr;
  auto* heap = ::new (memory) SlabHeap(*this, static_cast<uint16_t>(id));
  heaps_[id].store(heap, std::memory_order_release);
  heap_count_.store(id, std::memory_order_release);
  return heap;
}

SlabHeap* HeapRegistry::acquire() {
  LockGuard guard(lock_);
  SlabHeap*& list = abandoned_ != nullptr ? abandoned_ : spare_;
  SlabHeap* heap = list;
  if (heap == nullptr) return make_heap();
  if (&list == &abandoned_) abandoned_count_.fetch_sub(1, std::memory_order_relaxed);
  list = heap->next_abandoned_;
  heap->next_abandoned_ = nullptr;
  LockGuard owner(heap->lock_);
  heap->abandoned_.store(false, std::memory_order_seq_cst);
  return heap;
}

// Moves the abandoned heaps that own nothing any more to the spare ones. Mail that reaches a spare heap yet was
// addressed before another heap adopted the slab: its sender sees to it. The lock is held.
void HeapRegistry::retire_bare() {
  for (SlabHeap** link = &abandoned_; *link != nullptr;) {
    SlabHeap* heap = *link;
    if (heap->slab_count() != 0 || heap->has_mail()) {
      link = &heap->next_abandoned_;
      continue;
    }
    *link = heap->next_abandoned_;
    heap->next_abandoned_ = spare_;
    spare_ = heap;
    abandoned_count_.fetch_sub(1, std::memory_order_relaxed);
  }
}

// The lock is held.
template <class Visit>
void HeapRegistry::for_each_without_thread(Visit visit) {
  for (SlabHeap* list : {abandoned_, spare_})
    for (SlabHeap* heap = list; heap != nullptr; heap = heap->next_abandoned_) visit(*heap);
}

bool HeapRegistry::grant_extra(size_t bytes) {
  if (extra_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMostExtra) return true;
  return_extra(bytes);
  return false;
}

void HeapRegistry::abandon(SlabHeap& heap) {
  heap.empty_inbox();
  heap.release_empty(0);
  heap.give_up_extra(heap.empty_extra_);
  {
    LockGuard guard(lock_);
    {
      // From here on whoever holds the heap's lock owns it.
      LockGuard owner(heap.lock_);
      heap.abandoned_.store(true, std::memory_order_seq_cst);
      note_change(heap);
    }
    heap.next_abandoned_ = abandoned_;
    abandoned_ = &heap;
    abandoned_count_.fetch_add(1, std::memory_order_relaxed);
  }
  collect(heap);
}

bool HeapRegistry::adopt_slab(size_t size_class, SlabHeap& heir) {
  LockGuard guard(lock_);
  for (SlabHeap* heap = abandoned_; heap != nullptr; heap = heap->next_abandoned_) {
    if (heap->slab_count(size_class) == 0) continue;
    heap->lock_.lock();
    const bool given = heap->give_slab(size_class, heir);
    heap->lock_.unlock();
    collect(*heap);
    if (given) return true;
  }
  retire_bare();
  return false;
}

void* HeapRegistry::allocate_shared(size_t size_class) {
  void* blocks[4];
  const size_t got = take_shared(size_class, std::end(blocks), 1);
  if (got == 0) return nullptr;
  if (got > 1) {
    {
      LockGuard owner(shared_->lock_);
      shared_->flush(size_class, std::end(blocks) - got, got - 1);
    }
    collect(*shared_);
  }
  return *(std::end(blocks) - 1);
}

size_t HeapRegistry::take_shared(size_t size_class, void** end, size_t groups) {
  size_t got = 0;
  {
    LockGuard owner(shared_->lock_);
    for (; groups != 0; --groups) {
      const size_t more = shared_->take_group(size_class, end - got);
      if (more == 0) break;
      got += more;
    }
  }
  collect(*shared_);
  return got;
}

void HeapRegistry::send(Parcel* parcel, uint16_t owner) {
  SlabHeap* target = heap(owner);
  target->receive(parcel);
  if (target->abandoned_.load(std::memory_order_seq_cst)) collect(*target);
}

void HeapRegistry::send_lone(void* block, uint16_t owner, uint32_t bytes) {
  lone_blocks_.fetch_add(1, std::memory_order_relaxed);
  lone_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  SlabHeap* target = heap(owner);
  target->receive_lone(block);
  if (target->abandoned_.load(std::memory_order_seq_cst)) collect(*target);
}

// Empties the inbox of a heap that no thread owns. Whoever finds the lock taken may leave: its holder calls this after
// unlocking, and a heap that has found a thread is emptied by that one.
void HeapRegistry::collect(SlabHeap& heap) {
  while (heap.has_mail_now() && heap.abandoned_.load(std::memory_order_seq_cst)) {
    if (!heap.lock_.try_lock()) return;
    if (heap.abandoned_.load(std::memory_order_relaxed)) {
      heap.empty_inbox();
      note_change(heap);
    }
    heap.lock_.unlock();
  }
}

// The heap has no thread, and its lock is held.
void HeapRegistry::note_change(SlabHeap& heap) {
  if (bell_ == nullptr) return;
  heap.changed_at_ = os::milliseconds();
  heap.ages_ = true;
  bell_->ring();
}

Parcel* HeapRegistry::take_parcel() {
  {
    LockGuard guard(parcel_lock_);
    if (parcels_ != nullptr) {
      Parcel* parcel = parcels_;
      parcels_ = at<Parcel>(parcel->next);
      return parcel;
    }
  }
  void* memory = arena_.allocate(sizeof(Parcel));
  return memory == nullptr ? nullptr : ::new (memory) Parcel;
}

void HeapRegistry::give_parcel(Parcel* parcel) {
  LockGuard guard(parcel_lock_);
  parcel->next = address_of(parcels_);
  parcels_ = parcel;
}

size_t HeapRegistry::trim_abandoned() {
  size_t purged = 0;
  auto trim = [&](SlabHeap& heap) {
    {
      LockGuard owner(heap.lock_);
      heap.empty_inbox();
      heap.release_empty(0);
      purged += heap.purge_holes();
    }
    collect(heap);
  };
  trim(*shared_);
  LockGuard guard(lock_);
  for_each_without_thread(trim);
  retire_bare();
  return purged;
}

Purge HeapRegistry::purge_overdue(uint32_t milliseconds) {
  const auto purge = [&](SlabHeap& heap) {
    size_t slabs = 0;
    {
      LockGuard owner(heap.lock_);
      if (heap.ages_ && os::milliseconds() - heap.changed_at_ > milliseconds) {
        size_t bytes = 0;
        slabs = heap.purge_some_holes(kSlabsAtOnce, &bytes);
        heap.ages_ = slabs == kSlabsAtOnce;
      }
    }
    collect(heap);
    return slabs != 0;
  };
  if (purge(*shared_)) return Purge::kDone;
  LockGuard guard(lock_);
  for (SlabHeap* heap = abandoned_; heap != nullptr; heap = heap->next_abandoned_)
    if (purge(*heap)) return Purge::kDone;
  return Purge::kNotDue;
}

bool HeapRegistry::ages() {
  const auto ages = [&](SlabHeap& heap) {
    heap.lock_.lock();
    const bool ages = heap.ages_;
    heap.lock_.unlock();
    collect(heap);  // who found the lock taken has left it to us
    return ages;
  };
  if (ages(*shared_)) return true;
  LockGuard guard(lock_);
  for (SlabHeap* heap = abandoned_; heap != nullptr; heap = heap->next_abandoned_)
    if (ages(*heap)) return true;
  return false;
}

void HeapRegistry::lock_all() {
  shared_->lock_.lock_for_fork();
  lock_.lock_for_fork();
  for_each_without_thread([](SlabHeap& heap) { heap.lock_.lock_for_fork(); });
  parcel_lock_.lock_for_fork();
}

void HeapRegistry::unlock_all() {
  parcel_lock_.unlock_after_fork();
  // By id and not by list, which may have changed: a handler may have made the forking thread take one of them.
  for (size_t id = 1; id <= heap_count(); ++id) heap(static_cast<uint16_t>(id))->lock_.unlock_after_fork();
  for_each_without_thread([&](SlabHeap& heap) { collect(heap); });
  lock_.unlock_after_fork();
  collect(*shared_);
}

void HeapRegistry::open_heaps_in_child() {
  for (size_t id = 1; id <= heap_count(); ++id) {
    SlabHeap& one = *heap(static_cast<uint16_t>(id));
    if (!one.is_abandoned()) one.lock_.open_in_child();
  }
}

const char* HeapRegistry::check_abandoned() {
  {
    LockGuard owner(shared_->lock_);
    if (const char* broken = shared_->check(); broken != nullptr) return broken;
  }
  LockGuard guard(lock_);
  const char* broken = nullptr;
  size_t count = 0;
  for_each_without_thread([&](SlabHeap& heap) {
    LockGuard owner(heap.lock_);
    if (!heap.abandoned_.load(std::memory_order_relaxed)) broken = "heap registry: a heap with a thread is in a list";
    if (broken == nullptr) broken = heap.check();
  });
  if (broken != nullptr) return broken;
  for (SlabHeap* heap = abandoned_; heap != nullptr; heap = heap->next_abandoned_) ++count;
  if (count != abandoned_count()) return "heap registry: the count of abandoned heaps is wrong";
  return nullptr;
}

}  // namespace snug
