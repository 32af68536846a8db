#include "compact/compact_fit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fatal.h"

namespace snug {
namespace {

constexpr const char* kNoBlock = "the handle names no block of this heap, or one that was freed";
constexpr const char* kPinned = "the block is pinned";
constexpr const char* kNotPinned = "the block is not pinned";

}  // namespace

CompactFit::CompactFit(const BlockMap& map, PageSource source, HandleTable handles, size_t bound, size_t increment)
    : pages_(map, source, true), handles_(handles), bound_(bound), increment_(increment) {
  for (size_t i = 0; i < map.count(); ++i) pages_.bin(i).bound = bound;
}

HandleWord CompactFit::allocate(size_t bytes, size_t alignment) {
  settle();
  return name(pages_.take(bytes, alignment));
}

HandleWord CompactFit::allocate(size_t bytes, size_t alignment, Relocate relocate) {
  settle();
  const size_t had = pages_.count();
  const size_t kind = pages_.kind_for(bytes, alignment, relocate);
  if (kind == BlockPages::kNoKind) return 0;
  if (kind == CompactPage::kLarge) return name(pages_.take(bytes, alignment));
  if (kind == had) pages_.bin(kind).bound = bound_;
  return name(pages_.take_of(kind));
}

// Gives the place back if there is no handle for it.
HandleWord CompactFit::name(BlockPages::Place place) {
  if (place.page == nullptr) return 0;
  const HandleWord handle = handles_.add(place.block());
  if (handle == 0) {
    pages_.give(place);
    return 0;
  }
  place.owner() = BlockOwner(HandleTable::slot_of(handle));
  return handle;
}

void CompactFit::free(HandleWord handle) {
  settle();
  const BlockPages::Place place = place_of(handle, "snug_compact_free");
  if (place.owner().pins() != 0) die_of_misuse("snug_compact_free", place.block(), kPinned);
  handles_.remove(HandleTable::slot_of(handle));
  give(place);
}

// A page that was full may be open now.
void CompactFit::give(BlockPages::Place place) {
  CompactPage* const page = place.page;
  PageBin* const bin = page->bin;
  if (!pages_.give(place)) keep_bound(*bin);
}

bool CompactFit::resize(HandleWord handle, size_t bytes, size_t alignment) {
  settle();
  const BlockPages::Place old = place_of(handle, "snug_compact_resize");
  const size_t had = old.page->block;
  const bool fits = bytes <= had && is_aligned(address_of(old.block()), alignment);
  if (old.page->relocate != nullptr) return fits;
  const size_t size_class = pages_.class_for(bytes, alignment);
  if (fits && (old.page->is_large() ? bytes > had / 2 : size_class == old.page->size_class)) return true;
  if (old.owner().pins() != 0) return fits;
  const BlockPages::Place place = pages_.take(bytes, alignment);
  if (place.page == nullptr) return fits;
  std::memcpy(place.block(), old.block(), std::min(had, place.page->block));
  place.owner() = old.owner();
  handles_.set_address(HandleTable::slot_of(handle), place.block());
  give(old);
  return true;
}

void CompactFit::close() {
  move_ = {};
  pages_.release_all();
  handles_.close();
}

// ---- handles

BlockPages::Place CompactFit::place_of(HandleWord handle, const char* call) {
  if (!handles_.is_live(handle)) die_of_misuse(call, at<void>(handle), kNoBlock);
  return pages_.place_of(handles_.address(HandleTable::slot_of(handle)));
}

char* CompactFit::find(HandleWord handle) {
  if (!handles_.is_live(handle)) return nullptr;
  if (handles_.is_moving(HandleTable::slot_of(handle))) abort_move();
  return handles_.address(HandleTable::slot_of(handle));
}

char* CompactFit::address(HandleWord handle, const char* call) {
  char* const block = find(handle);
  if (block == nullptr) die_of_misuse(call, at<void>(handle), kNoBlock);
  return block;
}

size_t CompactFit::usable(HandleWord handle) { return place_of(handle, "snug_compact_usable_size").page->block; }

// ---- pins

char* CompactFit::pin(HandleWord handle) {
  settle();
  const BlockPages::Place place = place_of(handle, "snug_compact_pin");
  if (place.owner().pins() == BlockOwner::kMostPins) return nullptr;
  place.owner().pin();
  ++pins_;
  if (place.owner().pins() == 1) {
    ++place.page->pinned;
    if (!place.page->is_large()) place.page->bin->place_anew(place.page);
  }
  return place.block();
}

void CompactFit::unpin(HandleWord handle) {
  settle();
  const BlockPages::Place place = place_of(handle, "snug_compact_unpin");
  if (place.owner().pins() == 0) die_of_misuse("snug_compact_unpin", place.block(), kNotPinned);
  place.owner().unpin();
  --pins_;
  if (place.owner().pins() != 0) return;
  --place.page->pinned;
  if (place.page->is_large()) return;
  PageBin& bin = *place.page->bin;
  bin.place_anew(place.page);
  keep_bound(bin);
}

// ---- moves

void CompactFit::set_bound(size_t bound) {
  settle();
  bound_ = bound;
  for (size_t i = 0; i < pages_.count(); ++i) {
    pages_.bin(i).bound = bound;
    keep_bound(pages_.bin(i));
  }
}

void CompactFit::set_bound_of(size_t bytes, size_t bound) {
  settle();
  const size_t size_class = pages_.class_for(bytes, 1);
  if (size_class == CompactPage::kLarge) return;
  pages_.bin(size_class).bound = bound;
  keep_bound(pages_.bin(size_class));
}

// A hole that a free has made is the only one of its page, which is the fullest then: one move fills it.
void CompactFit::keep_bound(PageBin& bin) {
  CompactBudget unlimited;
  while (bin.open() > bin.bound) {
    begin_move(bin);
    go_on(unlimited);
  }
}

// The bin has two open pages.
void CompactFit::begin_move(PageBin& bin) {
  CompactPage* const from = bin.emptiest();
  const size_t index = from->last_used();
  move_ = {{from, index}, pages_.take_in(bin.fullest()), 0};
  const size_t slot = from->owner(index).slot();
  move_.to.owner() = BlockOwner::arriving(slot);
  handles_.begin_move(slot);
}

// False if the budget is used up before the block has arrived.
bool CompactFit::go_on(CompactBudget& budget) {
  while (move_.left() != 0) {
    if (budget.is_used_up()) return false;
    const size_t bytes = move_.next_part(increment_);
    move_.copy(bytes);
    budget.spend(bytes);
  }
  finish_move();
  return true;
}

void CompactFit::finish_move() {
  const Move move = std::exchange(move_, {});
  move.to.owner() = move.from.owner();
  handles_.set_address(move.from.owner().slot(), move.to.block());
  ++moves_.finished;
  moves_.bytes += move.done;
  pages_.give(move.from);
}

void CompactFit::abort_move() {
  const Move move = std::exchange(move_, {});
  handles_.end_move(move.from.owner().slot());
  ++moves_.aborted;
  pages_.give(move.to);
}

bool CompactFit::step(CompactBudget budget) {
  if (move_.is_under_way() && !go_on(budget)) return true;
  for (size_t seen = 0; seen != pages_.count(); ++seen) {
    PageBin& bin = pages_.bin(next_class_);
    while (bin.open() > 1) {
      if (budget.is_used_up()) return true;
      begin_move(bin);
      if (!go_on(budget)) return true;
    }
    next_class_ = (next_class_ + 1) % pages_.count();
  }
  return false;
}

// ---- what is true of it

size_t CompactFit::bytes_bound() const {
  size_t bytes = 0;
  for (size_t i = 0; i < pages_.count(); ++i) {
    const PageBin& bin = pages_.bin(i);
    const BlockClass& sizes = pages_.sizes(i);
    if (bin.bound == kNever) return SIZE_MAX;
    bytes += (bin.bound + bin.held()) * (sizes.blocks - size_t{1}) * sizes.block;
  }
  return bytes;
}

const char* CompactFit::check_owners(const CompactPage& page, size_t* blocks) const {
  for (size_t i = 0; i < page.blocks; ++i) {
    if (!page.holds(i)) continue;
    const BlockOwner owner = page.owner(i);
    if (owner.is_arriving()) {
      if (move_.to.page != &page || move_.to.index != i) return "compact heap: a place is taken for no move";
      continue;
    }
    ++*blocks;
    if (handles_.address(owner.slot()) != page.block_at(i)) return "compact heap: a handle does not lead to its block";
  }
  return nullptr;
}

const char* CompactFit::check() const {
  if (const char* broken = pages_.check(); broken != nullptr) return broken;
  if (const char* broken = handles_.check(); broken != nullptr) return broken;
  size_t blocks = 0;
  size_t pins = 0;
  const char* broken = nullptr;
  pages_.for_each_page([&](const CompactPage& page) {
    if (broken == nullptr) broken = check_owners(page, &blocks);
    for (size_t i = 0; i < page.blocks; ++i) pins += page.holds(i) ? page.owner(i).pins() : 0;
  });
  if (broken != nullptr) return broken;
  if (blocks != handles_.live()) return "compact heap: not as many blocks as handles";
  if (pins != pins_) return "compact heap: the count of pins is wrong";
  for (size_t i = 0; i < pages_.count(); ++i) {
    const PageBin& bin = pages_.bin(i);
    if (bin.open() > bin.bound) return "compact heap: more pages of a class are not full than its bound";
  }
  return nullptr;
}

}  // namespace snug
