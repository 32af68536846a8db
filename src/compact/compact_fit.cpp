#include "compact/compact_fit.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/fatal.h"
#include "base/in_place.h"

namespace snug {
namespace {

constexpr const char* kNoBlock = "the handle names no block of this heap, or one that was freed";
constexpr const char* kPinned = "the block is pinned";
constexpr const char* kNotPinned = "the block is not pinned";
constexpr const char* kNoReader = "the reader was destroyed before";
constexpr const char* kInside = "the reader is in a section";

}  // namespace

CompactFit::CompactFit(const BlockMap& map, PageSource source, uint16_t salt, Sharing sharing, Readers* others)
    : sharing_(sharing),
      pages_(map, source, true),
      handles_(salt),
      readers_(others != nullptr ? *others : own_readers_) {
  if (sharing == Sharing::kHeap || sharing == Sharing::kCores) {
    lock_.share();
    pages_.share();
  } else if (sharing == Sharing::kClasses) {
    large_lock_.share();
    handle_lock_.share();
    pages_.share_classes();
  }
  if (is_shared()) handles_.share();
}

// If no page has room while a move is under way, gives up the move, so that the block gets its target place. A new page
// would be one open page too many if the move were given up later.
inline CompactFit::Place CompactFit::take_from(PageBin& bin) {
  if (bin.to_fill() == nullptr && bin.move.is_under_way()) [[unlikely]]
    abort_move(bin);
  return pages_.take_from(bin);
}

HandleWord CompactFit::allocate(size_t bytes, size_t alignment) {
  const size_t size_class = pages_.class_for(bytes, alignment);
  if (size_class == CompactPage::kLarge) [[unlikely]]
    return allocate_large(bytes, alignment, nullptr);
  if (is_shared()) [[unlikely]]
    return allocate_of(size_class);
  PageBin* const bin = pages_.bin_for(size_class);
  if (bin == nullptr) return 0;
  bin->lock.assume_held();  // no other thread has the heap
  handle_lock_.assume_held();
  return name(take_from(*bin));
}

HandleWord CompactFit::allocate(size_t bytes, size_t alignment, Relocate relocate) {
  const size_t kind = pages_.kind_for(bytes, alignment, relocate);
  if (kind == BlockPages::kNoKind) return 0;
  return kind == CompactPage::kLarge ? allocate_large(bytes, alignment, relocate) : allocate_of(kind);
}

// If the table was too short, it grows, without a lock, and another place is taken.
template <class Take>
HandleWord CompactFit::with_handle(Take take) {
  for (;;) {
    const size_t limit = handles_.slot_limit();
    const HandleWord handle = take();
    if (handle != 0 || !handles_.grow(limit)) return handle;
  }
}

HandleWord CompactFit::allocate_of(size_t size_class) {
  PageBin* const bin = pages_.bin_for(size_class);
  if (bin == nullptr) return 0;
  return with_handle([&] {
    const ClassGuard lock(*this, bin->lock);
    return name_and_lock(take_from(*bin));
  });
}

HandleWord CompactFit::allocate_large(size_t bytes, size_t alignment, Relocate relocate) {
  return with_handle([&] {
    const PageRow row = pages_.take_row(bytes, alignment);
    const ClassGuard lock(*this, large_lock_);
    return name_and_lock(pages_.add_large(row, relocate));
  });
}

HandleWord CompactFit::name_and_lock(Place place) {
  const SharedOptionalLockGuard guard(handle_lock_);
  return name(place);
}

// Adds a handle for the place; 0, and gives the place back, if there is none.
HandleWord CompactFit::name(Place place) {
  if (place.page == nullptr) return 0;
  const HandleWord handle = handles_.add(place.block());
  if (handle == 0) {
    pages_.give(place);
    return 0;
  }
  place.owner() = BlockOwner(handles_.slot(handle));
  return handle;
}

void CompactFit::free(HandleWord handle) {
  PageBin* bin = nullptr;
  size_t leaf = HandleTable::kNone;
  bool is_within_bound = true;
  {
    const BlockGuard lock(*this, handle, "snug_compact_free");
    const Place place = lock.place;
    if (place.owner().pins() != 0) die_of_misuse("snug_compact_free", place.block(), kPinned);
    bin = place.page->bin;
    // A heap of one thread gives up the move that a step has begun in the class: then the page that opens is the
    // fullest, and one move fills it. A shared heap does not: a move that waits for readers would have to wait anew.
    if (is_shared()) {
      abort_move_of(place);
    } else if (bin != nullptr) {
      bin->lock.assume_held();  // by the guard
      if (bin->move.is_under_way()) abort_move(*bin);
    }
    handle_lock_.lock();
    leaf = handles_.remove(handles_.slot(handle));
    handle_lock_.unlock();
    pages_.give(place);
    if (bin != nullptr) {
      bin->lock.assume_held();
      is_within_bound = bin->open_without_move() <= bin->bound;
    }
  }
  if (leaf != HandleTable::kNone) [[unlikely]]
    give_back_leaf(leaf);
  if (is_within_bound) return;
  keep_bound(*bin, most_moves(1));
}

// Purges the leaf without a lock, and then puts it back.
void CompactFit::give_back_leaf(size_t leaf) {
  const bool is_gone = handles_.purge(leaf);
  const OptionalLockGuard heap(lock_);
  const SharedOptionalLockGuard guard(handle_lock_);
  handles_.put_back(leaf, is_gone);
}

// Pins the old place and the new one while it copies the contents without a lock.
bool CompactFit::resize(HandleWord handle, size_t bytes, size_t alignment) {
  Place old;
  bool fits = false;
  {
    const BlockGuard lock(*this, handle, "snug_compact_resize");
    old = lock.place;
    const size_t had = old.page->block;
    // A block of a class lies at a multiple of its size from the start of a page, wherever it is moved.
    fits = bytes <= had && (old.page->is_large() ? is_aligned(address_of(old.block()), alignment)
                                                 : alignment <= kPageSize && is_aligned(had, alignment));
    if (old.page->relocate != nullptr) return fits;
    const size_t size_class = pages_.class_for(bytes, alignment);
    if (fits && (old.page->is_large() ? bytes > had / 2 : size_class == old.page->size_class)) return true;
    if (old.owner().pins() != 0) return fits;
    abort_move_of(old);
    pin_place(old);
  }
  const size_t slot = handles_.slot(handle);
  const Place place = take_and_pin(bytes, alignment, slot);
  const bool has_place = place.page != nullptr;
  if (has_place) memcpy(place.block(), old.block(), min(old.page->block, place.page->block));
  // If another thread has pinned the old place meanwhile it holds its address: then the block stays. The handle changes
  // under the old class's lock, since a thread that holds that lock relies on the block's place.
  bool is_done = false;
  PageBin* const old_bin = old.page->bin;
  {
    const ClassGuard lock(*this, lock_of(old_bin));
    unpin_place(old);
    is_done = has_place && old.owner().pins() == 0;
    if (is_done) {
      handles_.set_address(slot, place.block());
      pages_.give(old);
    }
  }
  if (old_bin != nullptr) keep_bound(*old_bin, most_moves(1));
  if (has_place) {
    PageBin* const bin = place.page->bin;
    {
      const ClassGuard lock(*this, lock_of(bin));
      unpin_place(place);
      if (!is_done) pages_.give(place);
    }
    if (bin != nullptr) keep_bound(*bin, most_moves(1));
  }
  return is_done || fits;
}

CompactFit::Place CompactFit::take_and_pin(size_t bytes, size_t alignment, size_t slot) {
  const size_t size_class = pages_.class_for(bytes, alignment);
  PageBin* const bin = size_class == CompactPage::kLarge ? nullptr : pages_.bin_for(size_class);
  if (bin == nullptr && size_class != CompactPage::kLarge) return {};
  const PageRow row = bin == nullptr ? pages_.take_row(bytes, alignment) : PageRow{};
  const ClassGuard lock(*this, lock_of(bin));
  Place place;
  if (bin == nullptr) {
    place = pages_.add_large(row);
  } else {
    bin->lock.assume_held();
    place = take_from(*bin);
  }
  if (place.page == nullptr) return place;
  place.owner() = BlockOwner(slot);
  pin_place(place);
  return place;
}

void CompactFit::close() {
  pages_.release_all();
  Reader* reader = own_readers_.first.exchange(nullptr);
  while (reader != nullptr) {
    auto* const next = static_cast<Reader*>(reader->next);
    pages_.give_record(reader, sizeof(Reader));
    reader = next;
  }
  handles_.close();
}

// ---- handles

char* CompactFit::expect(char* block, HandleWord handle, const char* call) {
  if (block == nullptr) [[unlikely]]
    die_of_misuse(call, at<void>(handle), kNoBlock);
  return block;
}

// Takes the lock of the block's class; false if the handle names no block. While the thread waits for the lock, the
// block may move and its page go, so that the page's entry belonged to another. Under the class's lock no page or block
// of the class comes or goes, and nothing of the page is read before. A handle without a block takes the large blocks'
// lock.
bool CompactFit::BlockGuard::take(HandleWord handle) {
  heap_.lock_.lock();
  const auto find = [&] { return heap_.handles_.find(handle); };
  char* block = nullptr;
  if (heap_.sharing_ != Sharing::kClasses) {
    lock_ = &heap_.large_lock_;  // not shared here: the heap's lock is the only one
    block = find();
  } else {
    const auto lock_of_block = [&](const char* found) -> OptionalLock& {
      return heap_.lock_of(found == nullptr ? nullptr : heap_.pages_.bin_at(found));
    };
    const auto [lock, found] = lock_place_of(find, lock_of_block, heap_.large_lock_, heap_.pages_.lock());
    lock_ = lock;
    block = found;
  }
  if (block != nullptr) place = heap_.pages_.place_of(block);
  return block != nullptr;
}

char* CompactFit::find(HandleWord handle) {
  for (;;) {
    const HandleTable::Look look = handles_.look(handle);
    if (look.block == nullptr || !look.is_moving()) return look.block;
    const size_t slot = handles_.slot(handle);
    if (!is_shared()) {
      abort_move_of(pages_.place_of(look.block));
      return look.block;
    }
    if (const PageBin* const bin = pages_.bin_at(look.block); bin != nullptr && bin->relocate != nullptr) {
      // A move that a function makes cannot be called off in the middle: the reader waits for the class's lock. Another
      // thread may free the object meanwhile; then its slot must not be touched.
      const BlockGuard lock(*this, handle);
      if (lock.place.page == nullptr) return nullptr;
      handles_.call_off(slot);
      return lock.place.block();
    }
    if (handles_.call_off(slot, look)) return look.block;
  }
}

char* CompactFit::address(HandleWord handle, const char* call) { return expect(find(handle), handle, call); }

size_t CompactFit::usable(HandleWord handle) {
  return BlockGuard(*this, handle, "snug_compact_usable_size").place.page->block;
}

// ---- pins

char* CompactFit::pin(HandleWord handle) {
  const BlockGuard lock(*this, handle, "snug_compact_pin");
  if (lock.place.owner().pins() == BlockOwner::kMostPins) return nullptr;
  abort_move_of(lock.place);
  pin_place(lock.place);
  return lock.place.block();
}

void CompactFit::unpin(HandleWord handle) {
  PageBin* bin = nullptr;
  {
    const BlockGuard lock(*this, handle, "snug_compact_unpin");
    if (lock.place.owner().pins() == 0) die_of_misuse("snug_compact_unpin", lock.place.block(), kNotPinned);
    unpin_place(lock.place);
    bin = lock.place.page->bin;
  }
  if (bin != nullptr) keep_bound(*bin, most_moves(bin->sizes.blocks));
}

void CompactFit::pin_place(Place place) {
  CompactPage* const page = place.page;
  place.owner().pin();
  ++(page->is_large() ? large_pins_ : page->bin->pins);
  if (place.owner().pins() != 1) return;
  ++page->pinned;
  if (!page->is_large()) page->bin->place_anew(page);
}

void CompactFit::unpin_place(Place place) {
  CompactPage* const page = place.page;
  place.owner().unpin();
  --(page->is_large() ? large_pins_ : page->bin->pins);
  if (place.owner().pins() != 0) return;
  --page->pinned;
  if (!page->is_large()) page->bin->place_anew(page);
}

// ---- readers

CompactFit::Reader* CompactFit::open_reader() {
  if (Reader* const reader = reopen_reader(); reader != nullptr) return reader;
  void* const record = pages_.take_record(sizeof(Reader));
  if (record == nullptr) return nullptr;
  auto* const reader = ::new (InPlace{record}) Reader;
  reader->is_open = true;
  const OptionalLockGuard heap(lock_);
  const SharedOptionalLockGuard guard(handle_lock_);
  reader->next = readers_.first.load(kRelaxed);
  readers_.first.store(reader, kSeqCst);
  return reader;
}

// Reopens a reader that was closed; null if there is none.
CompactFit::Reader* CompactFit::reopen_reader() {
  const OptionalLockGuard heap(lock_);
  const SharedOptionalLockGuard guard(handle_lock_);
  Reader* reader = readers_.first.load(kRelaxed);
  while (reader != nullptr && reader->is_open) reader = static_cast<Reader*>(reader->next);
  if (reader != nullptr) reader->is_open = true;
  return reader;
}

void CompactFit::close_reader(Reader* reader) {
  const OptionalLockGuard heap(lock_);
  const SharedOptionalLockGuard guard(handle_lock_);
  if (!reader->is_open) die_of_misuse("snug_compact_reader_destroy", reader, kNoReader);
  if (reader->since.load(kRelaxed) != 0) die_inside("snug_compact_reader_destroy", *reader);
  reader->is_open = false;
}

void CompactFit::die_inside(const char* call, const Reader& reader) { die_of_misuse(call, &reader, kInside); }

}  // namespace snug
