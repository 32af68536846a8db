#include "slab/heap_registry.h"

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/call_site.h"
#include "base/fatal.h"
#include "base/in_place.h"

namespace snug {
namespace {

// Bytes of empty slabs that all heaps together keep beyond the fixed amount each.
constexpr size_t kMostExtra = size_t{32} << 20;

// What is wrong with an address in the slab, if it is to be a live block; null if nothing is. A block in a thread's
// cache counts as live. The caller holds the lock of the slab's heap.
const char* fault_in(const Slab& slab, const SizeClass& sizes, const void* block) {
  if (!slab.has_block_at(sizes, block)) return kInterior;
  const size_t slot = sizes.slot_of(address_of(block) - address_of(slab.start));
  if (slot >= slab.carved) return kNeverHandedOut;
  return tests_bit(slab.free_bits(), slot) ? kAlreadyFree : nullptr;
}

}  // namespace

bool HeapRegistry::open(const ClassTable& table) {
  table_ = &table;
  if (!heaps_.is_open()) {
    auto* places = static_cast<Heaps::Places<kIds>*>(arena_.map(sizeof(Heaps::Places<kIds>)));
    if (places == nullptr) return false;
    heaps_.open(*places);
  }
  if (shared_[0].load(kRelaxed) == nullptr) shared_[0].store(make_shared(0), kRelease);
  return shared_[0].load(kRelaxed) != nullptr;
}

// The heap table's lock is held.
SlabHeap* HeapRegistry::make_heap(uint16_t id, uint8_t home) {
  void* memory = arena_.allocate(sizeof(SlabHeap));
  return memory == nullptr ? nullptr : ::new (InPlace{memory}) SlabHeap(*this, id, home);
}

SlabHeap* HeapRegistry::make_shared(uint8_t home) {
  return heaps_.reserve([this, home](uint16_t id) {
    SlabHeap* const heap = make_heap(id, home);
    if (heap != nullptr) heap->is_shared_ = true;
    return heap;
  });
}

// The shared heap of the home, which is made here if need be; the first one's where the OS refuses. Of two threads that
// make it at the same moment one is late, and its heap stays without use.
SlabHeap& HeapRegistry::shared_heap(uint8_t home) {
  SlabHeap* shared = shared_[home].load(kAcquire);
  if (shared != nullptr) return *shared;
  SlabHeap* const made = make_shared(home);
  if (made == nullptr) return *shared_[0].load(kAcquire);
  return shared_[home].compare_exchange_strong(shared, made, kAcqRel) ? *made : *shared;
}

bool HeapRegistry::is_at_rest() const {
  bool is_held = heaps_.is_held();
  for (const Atomic<SlabHeap*>& place : shared_)
    if (const SlabHeap* const shared = place.load(kAcquire); shared != nullptr)
      is_held = is_held || shared->lock().is_held();
  return !is_held;
}

SlabHeap* HeapRegistry::acquire() {
  return heaps_.take([this](uint16_t id) {
    SlabHeap* const heap = make_heap(id, spans_.home_of(of_threads_));
    if (heap != nullptr) ++of_threads_;
    return heap;
  });
}

bool HeapRegistry::grant_extra(size_t bytes) {
  if (extra_.fetch_add(bytes, kRelaxed) + bytes <= kMostExtra) return true;
  return_extra(bytes);
  return false;
}

void HeapRegistry::abandon(SlabHeap& heap) {
  heaps_.leave(heap, [this](SlabHeap& left) {
    left.lock().assume_held();
    left.release_empty(0);
    left.give_up_extra(left.empty_extra_);
    note_change(left);
  });
}

void* HeapRegistry::take_one(SlabHeap& shared, size_t size_class) {
  void* blocks[kMostLineGroup];
  void** const end = end_of(blocks);
  SharedHolds::count_taking(CallSite::current());
  SlabHeap::Visit visit(shared);
  const size_t got = shared.take_group(size_class, end);
  if (got == 0) return nullptr;
  shared.flush(size_class, end - got, got - 1);
  return end[-1];
}

void* HeapRegistry::take_anywhere(size_t size_class) {
  void* block = nullptr;
  for_each([&](SlabHeap& heap) {
    if (block != nullptr || heap.slabs_to_give(size_class) == 0) return;
    if (heap.is_shared_) {
      block = take_one(heap, size_class);
    } else {
      const SlabHeap::Look look(heap);
      // A thread of that heap may have taken the last one, and refill() would then make a slab.
      if (heap.slabs_to_give(size_class) != 0) heap.refill(size_class, &block + 1, 1);
    }
  });
  return block;
}

size_t HeapRegistry::take_shared(uint8_t home, size_t size_class, void** end, size_t groups) {
  SharedHolds::count_taking(CallSite::current());
  SlabHeap& shared = shared_heap(home);
  SlabHeap::Visit visit(shared);
  size_t got = 0;
  for (; groups != 0; --groups) {
    const size_t more = shared.take_group(size_class, end - got);
    if (more == 0) break;
    got += more;
  }
  return got;
}

// The id of the heap that has a slab on the page; 0 if there is no slab. The page may have come to another layer since
// its class was read: its entry has a number of that layer then, which may be no heap's id.
uint16_t HeapRegistry::owner_at(PageId page) const {
  if (spans_.page_map().class_at(page.value) == 0) return 0;
  const PageEntry entry = spans_.page_map().entry(page);
  const uint16_t id = entry.owner();
  return id != 0 && !entry.is_of_blocks_apart() && heap(id) != nullptr ? id : uint16_t{0};
}

// Calls act(heap, slab) for the slab on the page, under the lock of its heap. False if there is none: taking the lock
// opens mail, and if the slab's last block comes home by that, the slab may be gone. `own` is the calling thread's
// heap, or null.
template <class Act>
bool HeapRegistry::look_at_slab(PageId page, SlabHeap* own, Act act) {
  for (uint16_t id = owner_at(page); id != 0; id = owner_at(page)) {
    SlabHeap& owner = *heap(id);
    const auto act_if_still = [&] {
      const bool is_still = owner_at(page) == id;  // the slab may have been adopted meanwhile
      if (is_still) act(owner, *page_map().entry(page).record<Slab>());
      return is_still;
    };
    if (own != nullptr && own == &owner) {
      const SlabHeap::Hold hold(owner);
      if (act_if_still()) return true;
    } else {
      const SlabHeap::Look look(owner);
      if (act_if_still()) return true;
    }
  }
  return false;
}

uint64_t HeapRegistry::which_should_move(void* const* blocks, uint64_t asked, SlabHeap* own, const char* call) {
  uint64_t which = 0;
  while (asked != 0) {
    const void* block = blocks[trailing_zeros(asked)];
    const char* fault = kAlreadyFree;
    look_at_slab(page_map().page_of(block), own, [&](const SlabHeap& owner, const Slab&) {
      owner.lock().assume_held();
      fault = nullptr;
      for (uint64_t left = asked; left != 0 && fault == nullptr; left &= left - 1) {
        const unsigned i = trailing_zeros(left);
        const PageId page = page_map().page_of(blocks[i]);
        if (owner_at(page) != owner.id()) continue;
        const Slab& slab = *page_map().entry(page).record<Slab>();
        fault = fault_in(slab, table_->classes[slab.size_class], block = blocks[i]);
        asked &= ~bit_run(i, 1);
        if (fault == nullptr && owner.is_worth_leaving(slab)) which |= bit_run(i, 1);
      }
    });
    if (fault != nullptr) die_of_misuse(call, block, fault);  // with no lock held
  }
  return which;
}

const char* HeapRegistry::fault_of(const void* block, SlabHeap* own) {
  if (!page_map().contains(block)) return kForeign;
  const char* fault = kAlreadyFree;
  look_at_slab(page_map().page_of(block), own, [&](const SlabHeap&, const Slab& slab) {
    fault = fault_in(slab, table_->classes[slab.size_class], block);
  });
  return fault;
}

bool HeapRegistry::view_slab(PageId page, SlabView& view) {
  return look_at_slab(page, nullptr, [&](const SlabHeap&, const Slab& slab) { view = SlabView(slab); });
}

bool HeapRegistry::view_block(const void* address, BlockView& view) {
  return look_at_slab(page_map().page_of(address), nullptr, [&](const SlabHeap&, Slab& slab) {
    view = BlockView(slab, address);
    view.heap = slab.owner;
    if (view.state == BlockView::State::kOut && slab.remote(table_->classes[slab.size_class]).has(view.slot))
      view.state = BlockView::State::kOnItsWay;
  });
}

void HeapRegistry::take_home(size_t size_class, void* block) {
  SlabHeap& owner = *heap(page_map().entry_at(block).owner());
  SlabHeap::Visit visit(owner);
  owner.flush(size_class, &block, 1);
}

size_t HeapRegistry::trim() {
  size_t purged = 0;
  heaps_.visit_all([&](SlabHeap& heap) {
    heap.lock().assume_held();
    heap.release_empty(0);
    purged += heap.purge_holes();
  });
  return purged;
}

Purge HeapRegistry::give_back_holes(Pass& pass) {
  SlabHeap* heap = heaps_.heap(pass.heap);
  if (!pass.has_begun)
    while (heap != nullptr && !heap->ages()) heap = heaps_.heap(++pass.heap);
  if (heap == nullptr) {
    pass = {};
    return Purge::kNotDue;
  }
  Holes holes;
  SpanBatch emptied;
  {
    const SlabHeap::Look look(*heap);
    // Blocks that come home from now on are left to the next pass.
    if (!pass.has_begun) heap->ages_.clear();
    pass.has_begun = true;
    if (!heap->take_holes(pass.round, holes, emptied)) {
      if (pass.round.has_passed) heap->ages_.set();
      pass = {.heap = static_cast<uint16_t>(pass.heap + 1)};
    }
  }
  if (!emptied.empty()) spans_.free_all(emptied);
  return holes.blocks() != 0 ? give_back(holes) : Purge::kDone;
}

// The slab stays while some of its blocks are detached, but another heap may adopt it.
Purge HeapRegistry::give_back(Holes& holes) {
  const bool is_worth = spans_.prepare_for_holes(*holes.slab().span, holes.bytes());
  const size_t bytes = is_worth ? holes.purge() : 0;
  spans_.count_holes(bytes);
  look_at_slab(page_map().page_of(holes.slab().start), nullptr, [&](SlabHeap& owner, const Slab&) {
    owner.lock().assume_held();
    owner.put_back(holes);
  });
  return bytes != 0 || !is_worth ? Purge::kDone : Purge::kRefused;
}

bool HeapRegistry::ages() {
  bool ages = false;
  for_each([&](const SlabHeap& heap) { ages = ages || heap.ages(); });
  return ages;
}

const char* HeapRegistry::check() {
  const char* broken = nullptr;
  for_each([&](SlabHeap& heap) {
    SlabHeap::Visit visit(heap);
    if (broken == nullptr) broken = heap.check();
  });
  if (broken == nullptr) broken = check_full_slabs();
  return broken != nullptr ? broken : heaps_.check();
}

const char* HeapRegistry::check_full_slabs() {
  const char* broken = nullptr;
  const PageId end = page_map().end_reserved();
  for (PageId page = page_map().first_reserved(); page < end && broken == nullptr; page = page + PageCount{1})
    look_at_slab(page, nullptr, [&](const SlabHeap& owner, const Slab& slab) {
      owner.lock().assume_held();
      if (slab.full && slab.span->first == page) broken = owner.check_slab(slab, slab.size_class);
    });
  return broken;
}

}  // namespace snug
