// BlockPages: blocks of a map's classes out of pages of their own, and large blocks with pages to themselves. It moves
// nothing; what it is told of owners and pins is for those that do.
//
//   per class   pages == those listed + full ones;  used == used blocks of all of them
//   in all      bytes_pages_, bytes_large_, bytes_records_ == those of the pages, of large ones, of what describes them
//
// A kind is a class beside the map's, for blocks of one size whose owners say how they are moved.
//
// A row of pages that becomes empty is kept for the next of its length. Beyond what was missed of late (SpareBudget)
// the oldest of them goes to the OS: what the heap takes follows what lives in it, and the store keeps nothing for it.
//
//   spare rows <= SpareBudget::kLeast, or 1 / kSpareShare of the pages that classes have      after give_back()
//
// Rows are poisoned for memory checkers, but for used blocks, until the source has them back.
//
// To take and to give is O(1), but for what the source takes. Giving asks the OS for nothing: what is to go waits for
// give_back(), which who must make no system call leaves to who comes next. After share() several threads may use it,
// if they keep to the turns of the bins, or to one over all; what all classes share has a turn here, which is taken
// inside of theirs. The OS may take its time over pages and records: none are asked for in that turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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
  // What all pages hold, and what describes them.
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
    // What the heap knows of it that moves blocks.
    size_t bytes_bound = 0;
    size_t pins = 0;
    size_t moves_under_way = 0;
    MoveCounts moves;
    uint64_t waits_classes = 0;  // turns that were waited for

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
  void share() { turn_.share(); }
  // The same, and each class has a turn of its own.
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
    return bin == nullptr ? Place{} : take_from(*bin);
  }
  Place take_from(PageBin& bin) {
    CompactPage* page = bin.to_fill();
    if (page == nullptr) [[unlikely]]
      page = add_page_to(bin);
    return page == nullptr ? Place{} : take_in(page);
  }
  // The same in a page that is open.
  Place take_in(CompactPage* page) {
    PageBin& bin = *page->bin;
    const size_t index = page->take();
    unpoison(page->block_at(index), page->block);
    ++bin.used;
    bin.place(page);
    return {page, index};
  }
  // The page goes with its last block.
  void give(Place place) {
    if (place.page->used == 1) [[unlikely]]
      return give_last(place);
    PageBin& bin = *place.page->bin;
    poison(place.block(), place.page->block);
    place.page->give(place.index);
    --bin.used;
    bin.place(place.page);
  }
  // Pages for a large block, and the block in them. No turn is needed for the first.
  PageRow take_row(size_t bytes, size_t alignment);
  Place add_large(PageRow row, Relocate relocate = nullptr);
  // To the source, some of what it is owed. Not in the turn that all classes share.
  void give_back() {
    if (owes_.load(std::memory_order_relaxed)) [[unlikely]]
      give_back_rows(kRowsAtOnce);
  }
  // The same, so many rows at most, each with a system call. Returns how many went: fewer if it owes no more.
  size_t give_back_rows(size_t most);
  // All pages go.
  void release_all();

  void* take_record(size_t bytes);
  void give_record(void* record, size_t bytes) {
    in_turn_of_source([&] { source_.give_record(record, bytes); });
  }

  // For a block that lies here for certain.
  Place place_of(const void* block) const {
    CompactPage* const page = source_.page_of(block);
    return {page, page->index_at(block)};
  }
  // Of a block, which may be on its way to another page meanwhile: then the answer is of no use, but the question does
  // no harm. Null: it is large.
  PageBin* bin_at(const void* block) const {
    const size_t class_after = source_.class_after(block);
    return class_after == 0 || class_after > count() ? nullptr : bin(class_after - 1);
  }
  // Null page: no used block begins there.
  Place find(const void* block) const;
  // What serves the request; kLarge if it gets pages of its own.
  size_t class_for(size_t bytes, size_t alignment) const {
    if (bytes <= map_.largest() && alignment <= map_.granule()) [[likely]]
      return map_.class_of(bytes);
    return class_for_otherwise(bytes, alignment);
  }
  // The same for blocks that `relocate` moves: a kind, which is added if there is none yet. kNoKind: there is no
  // memory, or there are kMostKinds. O(kinds).
  size_t kind_for(size_t bytes, size_t alignment, Relocate relocate);
  static constexpr size_t kMostKinds = 64;
  static constexpr size_t kMostBins = BlockMap::kMostClasses + kMostKinds;
  static constexpr size_t kNoKind = ~size_t{0};
  static constexpr size_t kAllRows = ~size_t{0};

  // Classes of the map, and kinds behind them.
  size_t count() const { return map_.count() + kind_count_.load(std::memory_order_acquire); }
  // Null: there has been no block of the class.
  PageBin* bin(size_t size_class) const { return bins_[size_class].load(std::memory_order_acquire); }
  // Null: there is no memory.
  PageBin* bin_for(size_t size_class) {
    PageBin* const bin = this->bin(size_class);
    if (bin == nullptr) [[unlikely]]
      return add_bin_for(size_class);
    return bin;
  }
  // visit(bin) for each that there is by now.
  template <class Visit>
  void for_each_bin(Visit visit) const {
    for (size_t i = 0; i < count(); ++i)
      if (PageBin* const bin = this->bin(i); bin != nullptr) visit(*bin);
  }
  // Of open pages, for classes that are yet to come.
  void set_bound(size_t bound) {
    const SharedTurnGuard guard(turn_);
    bound_ = bound;
  }

  Totals totals() const;  // O(classes)
  // Adds what the pages of the class hold that serves so many bytes. Returns the size of its blocks; 0: there is none.
  size_t totals_of(size_t bytes, Totals& totals) const;
  SharedTurn& turn() const { return turn_; }
  const char* check() const;
  // For checks: whether a class's page is there, and a record may be.
  bool has_page(const CompactPage* page) const { return is_page(page) && is_known(*page); }
  bool may_hold_record(const void* record, size_t bytes) const { return source_.may_hold_record(record, bytes); }

  // visit(page) for each page. It must not take or give.
  template <class Visit>
  void for_each_page(Visit visit) const {
    for (const CompactPage* page = all_.front(); page != nullptr; page = AllPages::next(page)) visit(*page);
  }

 private:
  using AllPages = List<CompactPage, &CompactPage::in_all>;
  // However many are missed, of empty pages one part in so many of those that classes have is kept at most.
  static constexpr size_t kSpareShare = 8;
  // When the longest row empties, so many of one page may have to go for it: what it counted for the share goes too.
  static constexpr size_t kRowsAtOnce = kMostPages + 1;

  // The store needs no turn.
  template <class Use>
  std::invoke_result_t<Use> in_turn_of_source(Use use) {
    if (source_.asks_the_os()) return use();
    const SharedTurnGuard guard(turn_);
    return use();
  }
  size_t class_for_otherwise(size_t bytes, size_t alignment) const;
  void give_last(Place place);
  CompactPage* add_page(PageRow row, PageBin* bin, size_t block, size_t blocks);
  CompactPage* add_page_to(PageBin& bin);
  PageRow take_row_of(const BlockClass& sizes);
  size_t spare_bound() const { return (bytes_pages_ - bytes_large_) / kSpareShare; }
  size_t most_spare() const { return budget_.allowed(spare_bound()); }
  void forget(CompactPage* page);
  void let_go(CompactPage* page);
  CompactPage* take_owed();
  void note_owed();
  bool give_spares();
  template <class Take>
  std::invoke_result_t<Take> with_spares(Take take);
  SNUG_COLD PageBin* add_bin_for(size_t size_class);
  size_t find_kind(size_t first, size_t last, size_t block, Relocate relocate) const;
  SNUG_COLD size_t add_kind(size_t known, size_t block, Relocate relocate);
  PageBin* add_bin(void* record, const BlockClass& sizes, size_t size_class, Relocate relocate);
  void release(CompactPage* page);
  CompactPage* find_mapping(const void* block) const;
  size_t record_bytes(size_t blocks) const { return CompactPage::record_bytes(blocks, has_owners_); }
  const char* check_class(size_t size_class) const;
  bool is_page(const CompactPage* page) const;
  bool is_known(const CompactPage& page) const;
  const char* check_links() const;
  const char* check_empty_rows(size_t tagged) const;
  bool lie_records_in_pages() const;
  template <class Visit>
  void for_each_empty(Visit visit) const {
    spares_.for_each(visit);
    for (const CompactPage* page = leaving_.front(); page != nullptr; page = AllPages::next(page)) visit(*page);
  }
  const char* check_page(const CompactPage& page) const;
  struct Counted {
    size_t pages = 0;
    size_t not_full = 0;  // of them
    size_t used = 0;      // blocks
  };
  const char* check_bin(size_t size_class, const Counted& counted) const;
  const char* check_bytes(size_t all, size_t large, size_t records) const;

  const BlockMap& map_;
  PageSource source_;
  const bool has_owners_;
  std::atomic<PageBin*> bins_[kMostBins] = {};
  std::atomic<size_t> kind_count_{0};
  mutable SharedTurn turn_;  // for all below, for the source, and to add a class
  bool shares_classes_ = false;
  size_t bound_ = 1;
  AllPages all_;      // large blocks last
  AllPages leaving_;  // empty, and nobody's
  SpareRows spares_;
  SpareBudget budget_;
  std::atomic<bool> owes_{false};  // pages leave, or more are spare than may be, or did when somebody looked
  size_t large_blocks_ = 0;
  size_t bytes_large_ = 0;
  size_t bytes_pages_ = 0;
  size_t bytes_records_ = 0;
};

}  // namespace snug
