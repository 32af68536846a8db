#include "slab/heap_registry.h"

#include <iterator>
#include <new>
#include <span>

#include "base/fatal.h"
#include "os/memory.h"
#include "os/process.h"

namespace snug {
namespace {

// Slabs whose holes are purged in one hold of their heap's lock, for which others may be waiting.
constexpr size_t kSlabsAtOnce = 8;

// Abandoned heaps that are visited for a slab between two looks at the list.
constexpr size_t kHeapsAtOnce = 8;

// Bytes of empty slabs that all heaps together keep beyond the usual.
constexpr size_t kMostExtra = size_t{32} << 20;

constexpr const char* kAlreadyFree = "block is already free";

// The slab of a block that is asked about, whose heap's lock is held. One in a thread's cache counts as live.
const Slab& slab_of_live(const Window& window, const void* block, const char* call) {
  const Slab& slab = *window.tag(window.page_of(block)).record<Slab>();
  if (!slab.has_block_at(block)) die_of_misuse(call, block, "points inside a block");
  const size_t slot = (address_of(block) - address_of(slab.start)) / slab.block_size;
  if (slot >= slab.carved) die_of_misuse(call, block, "block was never handed out");
  if (tests_bit(slab.free_bits(), slot)) die_of_misuse(call, block, kAlreadyFree);
  return slab;
}

}  // namespace

bool HeapRegistry::open(const ClassTable& table) {
  table_ = &table;
  if (heaps_ == nullptr) heaps_ = static_cast<std::atomic<SlabHeap*>*>(os::map(kMaxHeaps * sizeof *heaps_, 1));
  if (heaps_ == nullptr) return false;
  LockGuard guard(lock_);
  if (shared_ == nullptr) shared_ = make_heap();
  if (shared_ == nullptr) return false;
  shared_->is_shared_ = true;
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
  return heap;
}

// Moves the abandoned heaps that own nothing any more to the spare ones. The lock is held.
void HeapRegistry::retire_bare() {
  for (SlabHeap** link = &abandoned_; *link != nullptr;) {
    SlabHeap* heap = *link;
    if (heap->slab_count() != 0) {
      link = &heap->next_abandoned_;
      continue;
    }
    *link = heap->next_abandoned_;
    heap->next_abandoned_ = spare_;
    spare_ = heap;
    abandoned_count_.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool HeapRegistry::grant_extra(size_t bytes) {
  if (extra_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMostExtra) return true;
  return_extra(bytes);
  return false;
}

void HeapRegistry::abandon(SlabHeap& heap) {
  {
    SlabHeap::Visit visit(heap);
    heap.leave_unattended();
    heap.open_all_mail();
    heap.release_empty(0);
    heap.give_up_extra(heap.empty_extra_);
    note_change(heap);
  }
  LockGuard guard(lock_);
  heap.next_abandoned_ = abandoned_;
  abandoned_ = &heap;
  abandoned_count_.fetch_add(1, std::memory_order_relaxed);
}

// A heap that somebody is visiting is passed over. Visits bring mail home, and so memory to the OS: the lock is not
// held then. Whoever takes over a heap meanwhile has lost a slab that he has not seen.
bool HeapRegistry::adopt_slab(size_t size_class, SlabHeap& heir) {
  SlabHeap* heaps[kHeapsAtOnce];
  for (size_t seen = 0;; seen += kHeapsAtOnce) {
    const size_t found = list_abandoned(size_class, seen, heaps);
    for (SlabHeap* heap : std::span(heaps, found)) {
      if (!heap->try_visit()) continue;
      const bool given = heap->give_slab(size_class, heir);
      heap->end_visit();
      if (given) return true;
    }
    if (found != kHeapsAtOnce) return false;
  }
}

// Of the abandoned heaps with slabs of the class the next ones behind the first `skipped`. Returns how many there are.
size_t HeapRegistry::list_abandoned(size_t size_class, size_t skipped, SlabHeap** heaps) {
  LockGuard guard(lock_);
  size_t found = 0;
  for (SlabHeap* heap = abandoned_; heap != nullptr && found != kHeapsAtOnce; heap = heap->next_abandoned_) {
    if (heap->slab_count(size_class) == 0) continue;
    if (skipped != 0)
      --skipped;
    else
      heaps[found++] = heap;
  }
  if (found == 0) retire_bare();
  return found;
}

void* HeapRegistry::allocate_shared(size_t size_class) {
  void* blocks[kMostLineGroup];
  void** const end = std::end(blocks);
  SlabHeap::Visit visit(*shared_);
  const size_t got = shared_->take_group(size_class, end);
  if (got == 0) return nullptr;
  shared_->flush(size_class, end - got, got - 1);
  return end[-1];
}

size_t HeapRegistry::take_shared(size_t size_class, void** end, size_t groups) {
  SlabHeap::Visit visit(*shared_);
  size_t got = 0;
  for (; groups != 0; --groups) {
    const size_t more = shared_->take_group(size_class, end - got);
    if (more == 0) break;
    got += more;
  }
  return got;
}

// The slab goes with its last block, so that a block which comes home as the lock is taken may leave none behind.
bool HeapRegistry::should_move(const void* block, SlabHeap* own, const char* call) {
  const auto owner_now = [&] { return window().tag(window().page_of(block)).owner(); };
  for (uint16_t id = owner_now(); id != 0; id = owner_now()) {
    SlabHeap& owner = *heap(id);
    if (&owner == own) {
      SlabHeap::Hold hold(owner);
      if (owner_now() != id) break;
      return owner.is_worth_leaving(slab_of_live(window(), block, call));
    }
    SlabHeap::Look look(owner);
    if (owner_now() != id) continue;  // the slab may have been adopted meanwhile
    return owner.is_worth_leaving(slab_of_live(window(), block, call));
  }
  die_of_misuse(call, block, kAlreadyFree);
}

void HeapRegistry::take_home(size_t size_class, void* block) {
  SlabHeap& owner = *heap(window().tag(window().page_of(block)).owner());
  SlabHeap::Visit visit(owner);
  owner.flush(size_class, &block, 1);
}

void HeapRegistry::note_change_for_bell(SlabHeap& heap) {
  heap.changed_at_.store(os::milliseconds(), std::memory_order_relaxed);
  heap.ages_.store(true, std::memory_order_relaxed);
  bell_->ring();
}

size_t HeapRegistry::trim() {
  size_t purged = 0;
  for_each([&](SlabHeap& heap) {
    if (heap.slab_count() == 0 && !heap.has_mail()) return;
    SlabHeap::Visit visit(heap);
    heap.open_all_mail();
    heap.release_empty(0);
    purged += heap.purge_holes();
  });
  LockGuard guard(lock_);
  retire_bare();
  return purged;
}

Purge HeapRegistry::purge_overdue(uint32_t milliseconds) {
  Purge outcome = Purge::kNotDue;
  for_each([&](SlabHeap& heap) {
    if (outcome == Purge::kDone || !heap.is_overdue(milliseconds)) return;
    SlabHeap::Visit visit(heap);
    heap.open_all_mail();
    heap.release_empty(0);
    size_t bytes = 0;
    const size_t slabs = heap.purge_some_holes(kSlabsAtOnce, &bytes);
    heap.ages_.store(slabs == kSlabsAtOnce, std::memory_order_relaxed);
    if (slabs != 0) outcome = Purge::kDone;
  });
  return outcome;
}

bool HeapRegistry::ages() {
  bool ages = false;
  for_each([&](const SlabHeap& heap) { ages = ages || heap.ages(); });
  return ages;
}

void HeapRegistry::lock_all() {
  for_each([](SlabHeap& heap) { heap.lock().lock_for_fork(); });
  lock_.lock_for_fork();
}

void HeapRegistry::unlock_all() {
  lock_.unlock_after_fork();
  // A handler may have made the forking thread begin a heap, whose lock nobody holds.
  for_each([](SlabHeap& heap) { heap.lock().unlock_after_fork(); });
  for_each([](SlabHeap& heap) { heap.look_again(); });
}

const char* HeapRegistry::check() {
  const char* broken = nullptr;
  for_each([&](SlabHeap& heap) {
    SlabHeap::Visit visit(heap);
    if (broken == nullptr) broken = heap.check();
  });
  if (broken != nullptr) return broken;
  LockGuard guard(lock_);
  size_t count = 0;
  for (SlabHeap* heap = abandoned_; heap != nullptr; heap = heap->next_abandoned_) ++count;
  if (count != abandoned_count()) return "heap registry: the count of abandoned heaps is wrong";
  return nullptr;
}

}  // namespace snug
