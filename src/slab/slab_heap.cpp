#include "slab/slab_heap.h"

#include <new>

#include "base/fatal.h"
#include "os/memory.h"
#include "slab/heap_registry.h"
#include "slab/outbox.h"

namespace snug {
namespace {

// Bytes of empty slabs kept. Beyond that the span store has them, for any class.
constexpr size_t kEmptyKept = size_t{512} << 10;
constexpr const char* kAlreadyFree = "block is already free";
constexpr uint32_t kParcelsKept = 16;

}  // namespace

// Blocks on their way back that fall into one word of one slab's bitmap travel as one mask.
class SlabHeap::Run {
 public:
  explicit Run(SlabHeap& heap) : heap_(heap) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { end(); }

  void add(Slab* slab, size_t slot) {
    const uint64_t bit = uint64_t{1} << (slot % 64);
    if (slab != slab_ || slot / 64 != word_) {
      end();
      slab_ = slab;
      word_ = slot / 64;
    } else if ((mask_ & bit) != 0) {
      die_of_misuse("free", slab->block(slot), kAlreadyFree);
    }
    mask_ |= bit;
  }
  void end() {
    if (mask_ != 0) heap_.return_blocks(slab_, word_, mask_);
    mask_ = 0;
  }

 private:
  SlabHeap& heap_;
  Slab* slab_ = nullptr;
  size_t word_ = 0;
  uint64_t mask_ = 0;
};

SlabHeap::SlabHeap(HeapRegistry& registry, uint16_t id) : registry_(registry), id_(id), slabs_(registry.arena()) {}

size_t SlabHeap::refill(size_t size_class, void** out, size_t want) {
  if (has_mail()) drain_inbox();
  Bin& bin = bins_[size_class];
  size_t got = 0;
  bool carved = false;
  while (got < want && !carved) {
    Slab* slab = bin.partial.front();
    if (slab == nullptr) {
      if (got != 0) break;
      slab = slab_to_draw_from(size_class);
      if (slab == nullptr) return 0;
    }
    if (slab->used() == 0) empty_bytes_ -= slab->span->pages.bytes();
    const size_t recycled = slab->take_recycled(out + got, want - got);
    got += recycled;
    if (recycled == 0) {
      // Fresh memory costs a fault an OS page: no more of it at once than the caller is likely to use.
      const size_t most = slab->span->backed ? want : registry_.table().classes[size_class].carve_max;
      got += slab->carve(out + got, want - got < most ? want - got : most);
      carved = !slab->span->backed;
    }
    if (!slab->has_blocks()) {
      bin.partial.remove(slab);
      bin.full.push_front(slab);
      slab->full = true;
    }
  }
  bin.out.add(got);
  return got;
}

Slab* SlabHeap::slab_to_draw_from(size_t size_class) {
  if (registry_.abandoned_count() != 0 && registry_.adopt_slab(size_class, *this))
    return bins_[size_class].partial.front();
  return new_slab(size_class);
}

Slab* SlabHeap::new_slab(size_t size_class) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  Slab* slab = slabs_.make();
  if (slab == nullptr) return nullptr;
  slab->span = registry_.spans().allocate({sizes.pages_per_slab}, {sizes.slab_alignment()});
  if (slab->span == nullptr) {
    slabs_.recycle(slab);
    return nullptr;
  }
  slab->start = registry_.window().start_of(slab->span->first);
  slab->block_size = sizes.block_size;
  slab->reciprocal = sizes.reciprocal;
  slab->capacity = sizes.blocks_per_slab;
  slab->size_class = static_cast<uint8_t>(size_class);
  insert(slab);
  return slab;
}

void SlabHeap::insert(Slab* slab) {
  Bin& bin = bins_[slab->size_class];
  slab->owner = id_;
  tag_pages(*slab);
  bin.slabs.add(1);
  slab_count_.add(1);
  bin.out.add(slab->used());
  if (slab->used() == 0) empty_bytes_ += slab->span->pages.bytes();
  bin.partial.push_front(slab);
}

void SlabHeap::tag_pages(const Slab& slab) {
  Window& window = registry_.window();
  const PageTag tag = PageTag::slab(&slab, slab.owner);
  for (uint32_t i = 0; i < slab.span->pages.value; ++i) {
    const PageId page = slab.span->first + PageCount{i};
    window.set_tag(page, tag);
    window.set_class(page, scaled(slab.size_class));
  }
}

void SlabHeap::flush(size_t size_class, void* const* blocks, size_t count) {
  const Window& window = registry_.window();
  const uint32_t bytes = registry_.table().classes[size_class].block_size;
  Outbox outbox(*this);
  Run run(*this);
  for (size_t i = 0; i < count; ++i) {
    void* block = blocks[i];
    const PageTag tag = window.tag(window.page_of(block));
    if (tag.owner() == id_)
      put_home(run, tag, block);
    else if (tag.owner() != 0)
      outbox.add(block, tag.owner(), bytes);
    else
      die_of_misuse("free", block, kAlreadyFree);  // its slab is gone, so it was free before
  }
}

void SlabHeap::put_home(Run& run, PageTag tag, void* block) {
  auto* slab = tag.record<Slab>();
  const size_t offset = static_cast<size_t>(static_cast<char*>(block) - slab->start);
  const size_t slot = slab->slot_of(offset);
  if (slot * slab->block_size != offset || slot >= slab->capacity)
    die_of_misuse("free", block, "points inside a block");
  run.add(slab, slot);
}

void SlabHeap::return_blocks(Slab* slab, size_t word, uint64_t mask) {
  if (!slab->put_back(word, mask)) {
    const uint64_t wrong = (slab->free[word] & mask) != 0 ? slab->free[word] & mask : mask;
    die_of_misuse("free", slab->block(word * 64 + static_cast<size_t>(std::countr_zero(wrong))),
                  (slab->free[word] & mask) != 0 ? kAlreadyFree : "block was never handed out");
  }
  Bin& bin = bins_[slab->size_class];
  bin.out.subtract(static_cast<uint64_t>(std::popcount(mask)));
  if (slab->full) {
    bin.full.remove(slab);
    bin.partial.push_back(slab);  // behind the others, so that more of its blocks gather before it is drawn from
    slab->full = false;
  }
  if (slab->used() == 0) {
    empty_bytes_ += slab->span->pages.bytes();
    if (keeps_too_many_empty()) release(slab);
  }
}

bool SlabHeap::keeps_too_many_empty() const {
  return abandoned_.load(std::memory_order_relaxed) || empty_bytes_ > kEmptyKept;
}

void SlabHeap::release(Slab* slab) {
  Bin& bin = bins_[slab->size_class];
  Window& window = registry_.window();
  bin.partial.remove(slab);
  bin.slabs.subtract(1);
  slab_count_.subtract(1);
  empty_bytes_ -= slab->span->pages.bytes();
  for (uint32_t i = 0; i < slab->span->pages.value; ++i) {
    const PageId page = slab->span->first + PageCount{i};
    window.set_class(page, 0);
    window.set_tag(page, PageTag());
  }
  registry_.spans().free(slab->span, slab->touched_pages());
  slabs_.recycle(slab);
}

void SlabHeap::release_empty() {
  for (Bin& bin : bins_) {
    for (Slab* slab = bin.partial.front(); slab != nullptr && empty_bytes_ != 0;) {
      Slab* next = SlabList::next(slab);
      if (slab->used() == 0) release(slab);
      slab = next;
    }
  }
}

void SlabHeap::drain_inbox() {
  for (uintptr_t item = inbox_.take_all(); item != 0;) {
    const uintptr_t next = Inbox::next_of(item);
    if (Inbox::is_lone(item)) {
      void* block = Inbox::lone_block(item);
      open_parcel(&block, 1, class_of(block).block_size);
    } else {
      Parcel* parcel = Inbox::parcel(item);
      open_parcel(parcel->blocks, parcel->count, parcel->bytes);
      recycle(parcel);
    }
    item = next;
  }
}

// Takes blocks out of the mail. Those whose slab another heap has adopted meanwhile are sent on.
void SlabHeap::open_parcel(void* const* blocks, size_t count, uint32_t bytes) {
  const Window& window = registry_.window();
  blocks_mailed_.subtract(count);
  bytes_mailed_.subtract(bytes);
  Outbox outbox(*this);
  Run run(*this);
  for (size_t i = 0; i < count; ++i) {
    const PageTag tag = window.tag(window.page_of(blocks[i]));
    if (tag.owner() == id_)
      put_home(run, tag, blocks[i]);
    else if (tag.owner() == 0)
      die_of_misuse("free", blocks[i], kAlreadyFree);
    else
      outbox.add(blocks[i], tag.owner(), class_of(blocks[i]).block_size);
  }
}

const SizeClass& SlabHeap::class_of(const void* block) const {
  const Window& window = registry_.window();
  return registry_.table().classes[window.class_at(window.index_of(block)) / kClassScale];
}

void SlabHeap::post(Parcel* parcel, uint16_t owner) {
  parcels_sent_.add(1);
  blocks_mailed_.add(parcel->count);
  bytes_mailed_.add(parcel->bytes);
  registry_.send(parcel, owner);
}

void SlabHeap::post_lone(void* block, uint16_t owner, uint32_t bytes) { registry_.send_lone(block, owner, bytes); }

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
  parcel->bytes = 0;
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

bool SlabHeap::give_slab(size_t size_class, SlabHeap& heir) {
  Bin& bin = bins_[size_class];
  Slab* slab = bin.partial.front();
  if (slab == nullptr) return false;
  bin.partial.remove(slab);
  bin.slabs.subtract(1);
  slab_count_.subtract(1);
  bin.out.subtract(slab->used());
  if (slab->used() == 0) empty_bytes_ -= slab->span->pages.bytes();
  heir.insert(slab);
  return true;
}

size_t SlabHeap::purge_holes() {
  size_t purged = 0;
  const size_t os_page = os::page_size();
  for (Bin& bin : bins_) {
    for (Slab* slab = bin.partial.front(); slab != nullptr; slab = SlabList::next(slab)) {
      if (slab->free_count == 0 || slab->purged) continue;
      slab->purged = true;
      // Runs of neighbouring free blocks; an OS page that a run covers wholly holds nothing alive.
      size_t slot = 0;
      while (slot < slab->carved) {
        if ((slab->free[slot / 64] >> (slot % 64) & 1) == 0) {
          ++slot;
          continue;
        }
        const size_t first = slot;
        while (slot < slab->carved && (slab->free[slot / 64] >> (slot % 64) & 1) != 0) ++slot;
        const uintptr_t start = round_up(address_of(slab->block(first)), os_page);
        // Behind the last used block nothing was ever written: the page that the edge falls in may go as well.
        const uintptr_t edge = address_of(slab->block(slot));
        const uintptr_t end = slot == slab->carved ? round_up(edge, os_page) : round_down(edge, os_page);
        if (start < end && os::purge(at<void>(start), end - start)) purged += end - start;
      }
    }
  }
  return purged;
}

const char* SlabHeap::check() const {
  size_t all_slabs = 0;
  size_t empty = 0;
  for (size_t c = 0; c < kMaxClasses; ++c) {
    const Bin& bin = bins_[c];
    size_t slabs = 0;
    size_t out = 0;
    for (const SlabList* list : {&bin.partial, &bin.full}) {
      for (Slab* slab = list->front(); slab != nullptr; slab = SlabList::next(slab)) {
        if (const char* broken = slab->check(); broken != nullptr) return broken;
        if (slab->full != (list == &bin.full)) return "slab heap: a slab is in the wrong list";
        if (slab->owner != id_ || slab->size_class != c) return "slab heap: a slab belongs elsewhere";
        const Window& window = registry_.window();
        for (uint32_t i = 0; i < slab->span->pages.value; ++i) {
          const PageId page = slab->span->first + PageCount{i};
          if (window.tag(page).record<Slab>() != slab || window.tag(page).owner() != id_ ||
              window.class_at(page.value) != scaled(c))
            return "slab heap: a page's tag or class does not name its slab";
        }
        ++slabs;
        out += slab->used();
        if (slab->used() == 0) empty += slab->span->pages.bytes();
      }
    }
    if (slabs != bin.slabs.get() || out != bin.out.get()) return "slab heap: the counts of a class are wrong";
    all_slabs += slabs;
  }
  if (all_slabs != slab_count_.get() || empty != empty_bytes_) return "slab heap: the counts of slabs are wrong";
  return nullptr;
}

}  // namespace snug
