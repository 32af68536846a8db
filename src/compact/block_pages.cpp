#include "compact/block_pages.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/in_place.h"

namespace snug {

// Blocks lie at multiples of their size from the start of a page, so that a size which is a multiple of the alignment
// keeps it.
size_t BlockPages::class_for_otherwise(size_t bytes, size_t alignment) const {
  if (bytes > map_.largest() || alignment > kPageSize) return CompactPage::kLarge;
  size_t size_class = map_.class_of(bytes);
  while (size_class != map_.count() && !is_aligned(map_[size_class].block, alignment)) ++size_class;
  return size_class == map_.count() ? size_t{CompactPage::kLarge} : size_class;
}

size_t BlockPages::kind_for(size_t bytes, size_t alignment, Relocate relocate) {
  if (bytes > BlockMap::kLargest || alignment > kPageSize) return CompactPage::kLarge;
  const size_t block = round_up(max<size_t>(bytes, 1), max<size_t>(alignment, 16));
  const size_t known = count();
  const size_t kind = find_kind(map_.count(), known, block, relocate);
  return kind != kNoKind ? kind : add_kind(known, block, relocate);
}

// Searches the kinds from `first` to `last`; kinds are never removed.
size_t BlockPages::find_kind(size_t first, size_t last, size_t block, Relocate relocate) const {
  for (size_t kind = first; kind != last; ++kind)
    if (bin(kind)->relocate == relocate && bin(kind)->sizes.block == block) return kind;
  return kNoKind;
}

// Adds a kind that is none of the first `known`. The record is taken without a lock, since that may need a system call.
size_t BlockPages::add_kind(size_t known, size_t block, Relocate relocate) {
  if (known == map_.count() + kMostKinds) return kNoKind;
  void* const record = take_record(sizeof(PageBin));
  if (record == nullptr) return kNoKind;
  size_t kind = kNoKind;
  {
    const SharedOptionalLockGuard guard(lock_);
    const size_t next = count();
    kind = find_kind(known, next, block, relocate);  // another thread may have added it meanwhile
    if (kind == kNoKind && next != map_.count() + kMostKinds) {
      add_bin(record, BlockClass(block, pages_for_blocks_of(block)), next, relocate);
      kind_count_.store(next - map_.count() + 1, kRelease);
      return next;
    }
  }
  give_record(record, sizeof(PageBin));
  return kind;
}

PageBin* BlockPages::add_bin_for(size_t size_class) {
  void* const record = take_record(sizeof(PageBin));
  PageBin* bin = nullptr;
  {
    const SharedOptionalLockGuard guard(lock_);
    bin = this->bin(size_class);  // another thread may have added it meanwhile
    if (bin == nullptr) return record == nullptr ? nullptr : add_bin(record, map_[size_class], size_class, nullptr);
  }
  if (record != nullptr) give_record(record, sizeof(PageBin));
  return bin;
}

PageBin* BlockPages::add_bin(void* record, const BlockClass& sizes, size_t size_class, Relocate relocate) {
  bytes_records_ += sizeof(PageBin);
  auto* const bin = ::new (InPlace{record}) PageBin(sizes, size_class, relocate, bound_);
  if (shares_classes_) bin->lock.share();
  bins_[size_class].store(bin, kRelease);
  return bin;
}

// Gives back the page's only used block, and the page.
void BlockPages::give_last(Place place) {
  CompactPage* const page = place.page;
  if (!page->is_large()) {
    PageBin& bin = *page->bin;
    bin.lock.assume_held();
    poison(place.block(), page->block);
    --bin.used;
    --bin.pages;
    bin.remove(page);
  }
  release(page);
}

// If `take` finds no memory, the spare rows go back to the source, where they serve all lengths, and it is tried again.
template <class Take>
auto BlockPages::with_spares(Take take) {
  const auto taken = for_source(take);
  return taken || !give_spares() ? taken : for_source(take);
}

PageRow BlockPages::take_row(size_t bytes, size_t alignment) {
  return with_spares([&] { return source_.take(max<size_t>(bytes, 1), alignment); });
}

void* BlockPages::take_record(size_t bytes) {
  return with_spares([&] { return source_.take_record(bytes); });
}

void BlockPages::give_record(void* record, size_t bytes) {
  for_source([&] { source_.give_record(record, bytes); });
}

// False if there are no spare rows.
bool BlockPages::give_spares() {
  {
    const SharedOptionalLockGuard guard(lock_);
    while (CompactPage* const page = spares_.take_oldest()) let_go(page);
  }
  return give_back_rows(kAllRows) != 0;
}

BlockPages::Place BlockPages::add_large(PageRow row, Relocate relocate) {
  if (row.start == nullptr) return {};
  CompactPage* const page = add_page(row, nullptr, row.bytes, 1);
  if (page == nullptr) return {};
  page->relocate = relocate;
  const SharedOptionalLockGuard guard(lock_);
  all_.push_back(page);
  bytes_large_ += page->block;
  ++large_blocks_;
  return {page, page->take()};
}

PageRow BlockPages::take_row_of(const BlockClass& sizes) {
  CompactPage* spare = nullptr;
  {
    const SharedOptionalLockGuard guard(lock_);
    spare = spares_.take(sizes.bytes());
    if (spare != nullptr)
      bytes_records_ -= record_bytes(spare->blocks);
    else
      budget_.took(sizes.bytes(), spare_bound());
  }
  if (spare == nullptr) {
    if (!lock_.is_shared()) give_back();  // in a shared heap the release of the lock does so
    return take_row(sizes.bytes(), kPageSize);
  }
  const PageRow row = spare->row;
  give_record(spare, record_bytes(spare->blocks));
  return row;
}

CompactPage* BlockPages::add_page_to(PageBin& bin) {
  const BlockClass& sizes = bin.sizes;
  const PageRow row = take_row_of(sizes);
  if (row.start == nullptr) return nullptr;
  CompactPage* const page = add_page(row, &bin, sizes.block, sizes.blocks);
  if (page == nullptr) return nullptr;
  page->inverse = sizes.inverse;
  page->relocate = bin.relocate;
  ++bin.pages;
  poison(row.start, row.bytes);
  const SharedOptionalLockGuard guard(lock_);
  all_.push_front(page);
  return page;
}

// The row goes back if there is no memory for its record.
CompactPage* BlockPages::add_page(PageRow row, PageBin* bin, size_t block, size_t blocks) {
  void* const record = take_record(record_bytes(blocks));
  if (record == nullptr) {
    for_source([&] { source_.give(row); });
    return nullptr;
  }
  memset(record, 0, record_bytes(blocks));
  auto* const page = ::new (InPlace{record}) CompactPage;
  page->home = this;
  page->bin = bin;
  page->size_class = bin == nullptr ? CompactPage::kLarge : bin->size_class;
  page->row = row;
  page->block = block;
  page->blocks = static_cast<uint16_t>(blocks);
  page->free_all();
  const SharedOptionalLockGuard guard(lock_);
  source_.set_page(*page, page);
  bytes_pages_ += row.bytes;
  bytes_records_ += record_bytes(blocks);
  return page;
}

void BlockPages::release(CompactPage* page) {
  const SharedOptionalLockGuard guard(lock_);
  forget(page);
  if (page->is_large()) return let_go(page);
  spares_.add(page);
  note_owed();
}

// Removes the page from all that the heap knows.
void BlockPages::forget(CompactPage* page) {
  const PageRow& row = page->row;
  if (page->is_large()) {
    bytes_large_ -= page->block;
    --large_blocks_;
  }
  all_.remove(page);
  bytes_pages_ -= row.bytes;
  source_.set_page(*page, nullptr);
}

// Leaves row and record to give_back().
void BlockPages::let_go(CompactPage* page) {
  bytes_records_ -= record_bytes(page->blocks);
  leaving_.push_back(page);
  note_owed();
}

void BlockPages::note_owed() {
  if (!leaving_.empty() || spares_.bytes() > most_spare()) owes_.store(true, kRelaxed);
}

// Takes the page that is to go next. If there is none, null, and clears `owes_`; not sooner, as a check after each row
// would look twice.
CompactPage* BlockPages::take_owed() {
  const SharedOptionalLockGuard guard(lock_);
  CompactPage* page = leaving_.front();
  if (page != nullptr) {
    leaving_.remove(page);
  } else if (spares_.bytes() > most_spare()) {
    page = spares_.take_oldest();
    bytes_records_ -= record_bytes(page->blocks);
    budget_.gave(page->row.bytes, spare_bound());
  } else {
    owes_.store(false, kRelaxed);
  }
  return page;
}

// Large blocks go to the store, which keeps some, as it does of malloc's; other rows go to the OS.
size_t BlockPages::give_back_rows(size_t most) {
  for (size_t given = 0; given != most; ++given) {
    CompactPage* const page = take_owed();
    if (page == nullptr) return given;
    const PageRow row = page->row;
    const bool is_large = page->is_large();
    give_record(page, record_bytes(page->blocks));
    for_source([&] { is_large ? source_.give(row) : source_.give_to_os(row); });
  }
  return most;
}

// Gives all pages to the store, which keeps some: another heap may begin where this one ends.
void BlockPages::release_all() {
  give_back_rows(kAllRows);
  const auto give_to_store = [this](CompactPage* page) {
    const PageRow row = page->row;
    source_.give_record(page, record_bytes(page->blocks));
    source_.give(row);
  };
  while (CompactPage* const page = all_.front()) {
    if (!page->is_large()) page->bin->remove(page);
    forget(page);
    give_to_store(page);
  }
  while (CompactPage* const page = spares_.take_oldest()) give_to_store(page);
  for (size_t i = 0; i < count(); ++i)
    if (PageBin* const bin = bins_[i].exchange(nullptr); bin != nullptr) source_.give_record(bin, sizeof(PageBin));
  kind_count_.store(0, kRelaxed);
}

BlockPages::Place BlockPages::find(const void* block) const {
  CompactPage* const page = source_.find_page(block);
  if (page == nullptr) return {find_mapping(block), 0};
  if (page->home != this) return {};
  const Place place{page, page->index_at(block)};
  return page->holds(place.index) && place.block() == block ? place : Place{};
}

// O(large blocks).
CompactPage* BlockPages::find_mapping(const void* block) const {
  CompactPage* page = all_.back();
  while (page != nullptr && page->is_large() && page->row.start != block) page = AllPages::prev(page);
  return page != nullptr && page->is_large() ? page : nullptr;
}

}  // namespace snug
