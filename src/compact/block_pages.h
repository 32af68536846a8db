// BlockPages: blocks of a map's classes out of pages of their own, and large blocks with pages to themselves. It moves
// nothing; owners and pins are kept here for CompactFit, which does.
//
//   per class   pages == those listed + full ones;  used == used blocks of all of them
//   in all      bytes_pages_, bytes_large_, bytes_records_ == those of the pages, of large ones, of what describes them
//
// A kind is a class beside the map's, for blocks of one size that one function moves.
//
// A row of pages that becomes empty is kept for the next of its length. Beyond what was needed again of late
// (SpareBudget) the oldest rows go to the OS: the heap's memory follows its live blocks, and the store keeps none of
// it.
//
//   spare rows <= SpareBudget::kLeast, or 1 / kSpareShare of the pages that classes have      after give_back()
//
// Rows are poisoned for memory checkers, but for used blocks, until the source has them back.
//
// Taking and giving are O(1), but for the time of the source. Giving makes no system call: rows that are to go wait for
// give_back(); a caller that must make no system call leaves that to a later one. After share() several threads may use
// this, if they hold the locks of the bins, or one over all. The state that all classes share has a lock of its own
// here, which is taken inside of theirs; no pages and records are taken under it, since that may need a system call.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/poison.h"
#include "compact/block_map.h"
#include "compact/page.h"
#include "compact/page_bin.h"
#include "compact/page_source.h"
#include "compact/spare_budget.h"
#include "compact/spare_rows.h"

namespace snug {

class BlockPages {
 public:
  using Place = BlockPlace;  // without a page: there is no memory
  // What all pages hold, and the records that describe them.
  struct Totals {
    size_t blocks = 0;
    size_t bytes_blocks = 0;
    size_t bytes_free = 0;  // in pages that are not full
    size_t bytes_tails = 0;
    size_t bytes_large = 0;
    size_t bytes_records = 0;
    size_t bytes_spare = 0;
    size_t pages = 0;  // of 16 KiB, spare ones apart
    size_t rows_open = 0;
    size_t rows_held = 0;
    // What CompactFit, which moves blocks, counts.
    size_t bytes_bound = 0;
    size_t pins = 0;
    size_t moves_under_way = 0;
    MoveCounts moves;
    uint64_t waits_classes = 0;  // how often a thread had to wait for a class's lock

    void add(const Totals& others);
    void add(const PageBin& bin);
  };

  BlockPages(const BlockMap& map, PageSource source, bool has_owners)
      : map_(map), source_(source), has_owners_(has_owners) {
    look_for_checkers();
  }
  BlockPages(const BlockPages&) = delete;
  BlockPages& operator=(const BlockPages&) = delete;
  bool shares_classes() const { return shares_classes_; }
  void share() { lock_.share(); }
  // The same, and each class has a lock of its own.
  void share_classes() {
    share();
    shares_classes_ = true;
  }

  // `alignment` is a power of two.
  Place take(size_t bytes, size_t alignment) {
    const size_t size_class = class_for(bytes, alignment);
    return size_class != CompactPage::kLarge ? take_of(size_class) : add_large(take_row(bytes, alignment));
  }
  // A block of the class.
  Place take_of(size_t size_class) {
    PageBin* const bin = bin_for(size_class);
    if (bin == nullptr) return {};
    bin->lock.assume_held();  // no other thread has the heap
    return take_from(*bin);
  }
  Place take_from(PageBin& bin) SNUG_REQUIRES(bin.lock) {
    CompactPage* page = bin.to_fill();
    if (page == nullptr) [[unlikely]]
      page = add_page_to(bin);
    return page == nullptr ? Place{} : take_in(page);
  }
  // Takes a block in a page that is open.
  Place take_in(CompactPage* page) {
    PageBin& bin = *page->bin;
    bin.lock.assume_held();
    const size_t index = page->take();
    unpoison(page->block_at(index), page->block);
    ++bin.used;
    bin.place(page);
    return {page, index};
  }
  // Gives a block back; its page goes with the last one.
  void give(Place place) {
    if (place.page->used == 1) [[unlikely]]
      return give_last(place);
    PageBin& bin = *place.page->bin;
    bin.lock.assume_held();
    poison(place.block(), place.page->block);
    place.page->give(place.index);
    --bin.used;
    bin.place(place.page);
  }
  // take_row() takes pages for a large block, without a lock; add_large() makes the block in them.
  PageRow take_row(size_t bytes, size_t alignment);
  Place add_large(PageRow row, Relocate relocate = nullptr);
  // Gives some of the rows that are to go to the source. The caller does not hold the lock that all classes share.
  void give_back() {
    if (owes_.load(kRelaxed)) [[unlikely]]
      give_back_rows(kRowsAtOnce);
  }
  // The same, so many rows at most, each with a system call. Returns how many went: fewer if no more are to go.
  size_t give_back_rows(size_t most);
  // All pages go.
  void release_all() SNUG_UNPROVED;

  void* take_record(size_t bytes);
  void give_record(void* record, size_t bytes);

  // The place of a block that lies in this heap for certain.
  Place place_of(const void* block) const {
    CompactPage* const page = source_.page_of(block);
    return {page, page->index_at(block)};
  }
  // The bin of a block; null if it is large. The block may move to another page meanwhile: then the answer is useless,
  // but asking does no harm.
  PageBin* bin_at(const void* block) const {
    const size_t class_after = source_.class_after(block);
    return class_after == 0 || class_after > count() ? nullptr : bin(class_after - 1);
  }
  // For a heap of one thread: the place of the used block that begins there; without a page if there is none. O(large
  // blocks) for an address that lies in no page of a class.
  Place find(const void* block) const;
  // The class that serves the request; kLarge if the block gets pages of its own.
  size_t class_for(size_t bytes, size_t alignment) const {
    if (bytes <= map_.largest() && alignment <= map_.granule()) [[likely]]
      return map_.class_of(bytes);
    return class_for_otherwise(bytes, alignment);
  }
  // The kind for blocks that `relocate` moves, added if there is none yet. kNoKind: there is no memory, or there are
  // kMostKinds. O(kinds).
  size_t kind_for(size_t bytes, size_t alignment, Relocate relocate);
  static constexpr size_t kMostKinds = 64;
  static constexpr size_t kMostBins = BlockMap::kMostClasses + kMostKinds;
  static constexpr size_t kNoKind = ~size_t{0};
  static constexpr size_t kAllRows = ~size_t{0};

  // How many classes the map has, and kinds behind them.
  size_t count() const { return map_.count() + kind_count_.load(kAcquire); }
  // Null: there has been no block of the class.
  PageBin* bin(size_t size_class) const { return bins_[size_class].load(kAcquire); }
  // Null: there is no memory.
  PageBin* bin_for(size_t size_class) {
    PageBin* const bin = this->bin(size_class);
    if (bin == nullptr) [[unlikely]]
      return add_bin_for(size_class);
    return bin;
  }
  // Calls visit(bin) for each bin that exists now.
  template <class Visit>
  void for_each_bin(Visit visit) const {
    for (size_t i = 0; i < count(); ++i)
      if (PageBin* const bin = this->bin(i); bin != nullptr) visit(*bin);
  }
  // Sets the bound on open pages for bins that are added later.
  void set_bound(size_t bound) {
    const SharedOptionalLockGuard guard(lock_);
    bound_ = bound;
  }

  // Takes each class's lock in turn, then the pages'. O(classes).
  Totals totals() const;
  // Adds what the pages of the class for `bytes` hold. Returns the size of its blocks; 0: there is no such class.
  size_t totals_of(size_t bytes, Totals& totals) const;
  SharedOptionalLock& lock() const SNUG_RETURNS_LOCK(lock_) { return lock_; }
  // All locks of the heap are held, or it has one thread.
  const char* check() const SNUG_UNPROVED;
  // For checks: whether `page` is a page of a class; whether a record may lie there.
  bool has_page(const CompactPage* page) const { return is_page(page) && is_known(*page); }
  bool may_hold_record(const void* record, size_t bytes) const { return source_.may_hold_record(record, bytes); }

  // Calls visit(page) for each page; visit must not take or give blocks.
  template <class Visit>
  void for_each_page(Visit visit) const SNUG_REQUIRES(lock_) {
    for (const CompactPage* page = all_.front(); page != nullptr; page = AllPages::next(page)) visit(*page);
  }

 private:
  using AllPages = List<CompactPage, &CompactPage::in_all>;
  // Whatever the budget says, of the classes' pages at most one in so many is kept empty.
  static constexpr size_t kSpareShare = 8;
  // When a row of the longest length empties, so many rows of one page may have to go for it: the bound on empty pages
  // falls too.
  static constexpr size_t kRowsAtOnce = kMostPages + 1;

  // Calls use() under the lock, unless the source is the store, which needs none.
  template <class Use>
  auto for_source(Use use) {
    if (source_.asks_the_os()) return use();
    const SharedOptionalLockGuard guard(lock_);
    return use();
  }
  size_t class_for_otherwise(size_t bytes, size_t alignment) const;
  void give_last(Place place);
  CompactPage* add_page(PageRow row, PageBin* bin, size_t block, size_t blocks);
  CompactPage* add_page_to(PageBin& bin) SNUG_REQUIRES(bin.lock);
  PageRow take_row_of(const BlockClass& sizes);
  size_t spare_bound() const SNUG_REQUIRES(lock_) { return (bytes_pages_ - bytes_large_) / kSpareShare; }
  size_t most_spare() const SNUG_REQUIRES(lock_) { return budget_.allowed(spare_bound()); }
  void forget(CompactPage* page) SNUG_REQUIRES(lock_);
  void let_go(CompactPage* page) SNUG_REQUIRES(lock_);
  CompactPage* take_owed();
  void note_owed() SNUG_REQUIRES(lock_);
  bool give_spares();
  template <class Take>
  auto with_spares(Take take);
  SNUG_COLD PageBin* add_bin_for(size_t size_class);
  size_t find_kind(size_t first, size_t last, size_t block, Relocate relocate) const;
  SNUG_COLD size_t add_kind(size_t known, size_t block, Relocate relocate);
  PageBin* add_bin(void* record, const BlockClass& sizes, size_t size_class, Relocate relocate) SNUG_REQUIRES(lock_);
  void release(CompactPage* page);
  CompactPage* find_mapping(const void* block) const SNUG_UNPROVED;  // for find()
  size_t record_bytes(size_t blocks) const { return CompactPage::record_bytes(blocks, has_owners_); }
  const char* check_class(size_t size_class) const SNUG_UNPROVED;
  bool is_page(const CompactPage* page) const;
  bool is_known(const CompactPage& page) const;
  const char* check_links() const SNUG_UNPROVED;
  const char* check_empty_rows(size_t tagged) const SNUG_UNPROVED;
  bool lie_records_in_pages() const SNUG_UNPROVED;
  template <class Visit>
  void for_each_empty(Visit visit) const SNUG_REQUIRES(lock_) {
    spares_.for_each(visit);
    for (const CompactPage* page = leaving_.front(); page != nullptr; page = AllPages::next(page)) visit(*page);
  }
  const char* check_page(const CompactPage& page) const;
  struct Counted {
    size_t pages = 0;
    size_t not_full = 0;  // of them
    size_t used = 0;      // blocks
  };
  const char* check_bin(size_t size_class, const Counted& counted) const SNUG_UNPROVED;
  const char* check_bytes(size_t all, size_t large, size_t records) const SNUG_UNPROVED;

  const BlockMap& map_;
  PageSource source_;
  const bool has_owners_;
  Atomic<PageBin*> bins_[kMostBins] = {};
  Atomic<size_t> kind_count_{0};
  mutable SharedOptionalLock lock_;  // and, of a region, the source
  bool shares_classes_ = false;
  size_t bound_ SNUG_GUARDED_BY(lock_) = 1;
  AllPages all_ SNUG_GUARDED_BY(lock_);      // large blocks last
  AllPages leaving_ SNUG_GUARDED_BY(lock_);  // empty pages that wait for give_back()
  SpareRows spares_ SNUG_GUARDED_BY(lock_);
  SpareBudget budget_ SNUG_GUARDED_BY(lock_);
  Atomic<bool> owes_{false};  // true if rows are to go; perhaps still true when the last one has gone
  size_t large_blocks_ SNUG_GUARDED_BY(lock_) = 0;
  size_t bytes_large_ SNUG_GUARDED_BY(lock_) = 0;
  size_t bytes_pages_ SNUG_GUARDED_BY(lock_) = 0;
  size_t bytes_records_ SNUG_GUARDED_BY(lock_) = 0;
};

}  // namespace snug
