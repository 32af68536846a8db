// The class BasicCellHeap, which snug/cell/basic_cell_heap.h describes and users include, and its fast half: operations
// on cells. Operations on whole regions are in snug/cell/cell_heap_regions.h.
//
// check() proves the invariants that snug/cell/basic_cell_heap.h states.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "snug/base/poison.h"
#include "snug/cell/cell.h"
#include "snug/cell/cell_statistics.h"
#include "snug/cell/embedded_cell_policy.h"
#include "snug/cell/free_bytes.h"
#include "snug/cell/heap_check.h"
#include "snug/cell/region_list.h"

namespace snug {

template <CellHeapPolicy Policy>
class BasicCellHeap {
  using Layout = CellLayout<Policy::kAlignment>;
  using Trailer = typename Policy::Trailer;
  using Pages = typename Policy::Pages;
  using Retention = typename Policy::Retention;
  using Trace = typename Policy::Trace;
  using Index = typename Policy::Fit::template Index<Layout>;
  using Regions = CellRegionList<Layout>;
  using Check = CellHeapCheck<Layout, Trailer, Retention>;
  using Tools = Poison<Policy::Checks::kTells>;
  using Pause = typename Tools::LookAndPause;

  static constexpr size_t kCellOverhead = Layout::kWord + Trailer::kBytesOfUsed;
  static constexpr bool kGrows = Pages::kPageBytes != 0;
  static_assert(kGrows || !Retention::kWatches, "only pages of a page source can go back");
  static_assert(Trailer::kMergesBackward || !Retention::kWatches, "without trailers no page becomes one free cell");

 public:
  static constexpr size_t kAlignment = Policy::kAlignment;
  // A larger request is refused.
  static constexpr size_t kLargestRequest = Index::kLargestTake - 2 * Layout::kUnit - kCellOverhead;
  // The shortest region that add_region() takes, wherever it begins.
  static constexpr size_t kSmallestRegion = Regions::kOverhead + Layout::kSmallestCell;

  constexpr BasicCellHeap() = default;
  explicit constexpr BasicCellHeap(Pages pages, Retention retention = {}, Trace trace = {})
      : pages_(pages), retention_(retention), trace_(trace) {}
  // Gives the pages back, with all live blocks in them; regions are the caller's, and their bytes stay as they are.
  ~BasicCellHeap() {
    if (kGrows || kPoisonsForSanitizer || (Tools::kTells && on_memcheck())) let_go_of_regions();
  }
  BasicCellHeap(const BasicCellHeap&) = delete;
  BasicCellHeap& operator=(const BasicCellHeap&) = delete;

  // Adds these bytes to the heap, for as long as it lives. Null, or a sentence that says why it did not.
  const char* add_region(void* start, size_t bytes);
  // Takes the region that add_region() got at `start` out of the heap. Null, or a sentence that says why it did not: no
  // region of the caller's begins there, or a block lives in it. O(regions), without trailers O(cells of the region).
  const char* remove_region(void* start);

  // Null if there is no cell that is long enough, and the page source has no page.
  void* allocate(size_t bytes) {
    if (bytes > kLargestRequest) [[unlikely]]
      return nullptr;
    [[maybe_unused]] const Pause pause;
    prove("CellHeap::allocate", this);
    const size_t size = cell_size(bytes);
    Cell* const cell = index_.take(size);
    if (cell == nullptr) [[unlikely]]
      return allocate_close(size);
    return occupy(cell, Layout::size_of(cell), size, kCellPrevUsed);
  }

  // `alignment`: a power of two, or the answer is null. The gap before the block becomes a free cell.
  void* allocate_aligned(size_t alignment, size_t bytes) {
    if (alignment <= kAlignment && alignment != 0 && (alignment & (alignment - 1)) == 0) return allocate(bytes);
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kLargestRequest / 2 ||
        bytes > kLargestRequest / 2 - Layout::kSmallestCell)
      return nullptr;
    [[maybe_unused]] const Pause pause;
    prove("CellHeap::allocate_aligned", this);
    const size_t size = cell_size(bytes);
    const size_t longest = size + alignment + Layout::kSmallestCell;
    Cell* cell = index_.take(longest);
    if (cell == nullptr) [[unlikely]]
      cell = locate_aligned(alignment, size, longest);
    if (cell == nullptr) return nullptr;
    const size_t whole = Layout::size_of(cell);
    const size_t gap = Layout::gap_in(cell, alignment);
    if (gap == 0) return occupy(cell, whole, size, kCellPrevUsed);
    Cell* const aligned = Layout::behind(cell, gap);
    cell->head = gap | kCellPrevUsed;
    put_head(aligned, 0);
    Trailer::template mark_free<Layout>(gap, aligned);
    index_.insert(cell, gap);
    return occupy(aligned, whole - gap, size, 0);
  }

  // Null is ignored.
  void deallocate(void* block) {
    [[maybe_unused]] const Pause pause;
    Cell* cell = used_cell("CellHeap::deallocate", block);
    if (cell == nullptr) return;
    size_t size = Layout::size_of(cell);
    forbid(cell, size);
    trace_.freed(block, size);
    free_.count_in(size);
    Cell* next = Layout::behind(cell, size);
    if (Trailer::template prev_is_free<Layout>(cell)) {
      const size_t more = Layout::size_before(cell);
      cell->head = 0;  // so that a second free of the block is detected
      cell = Layout::before(cell, more);
      index_.remove(cell, more);
      size += more;
    }
    if (!Layout::is_used(next)) {
      const size_t more = Layout::size_of(next);
      index_.remove(next, more);
      size += more;
      next = Layout::behind(cell, size);
      Trailer::template keep_free<Layout>(size, next);
    } else {
      Trailer::template mark_free<Layout>(size, next);
    }
    cell->head = size + kCellPrevUsed;
    if constexpr (Retention::kWatches) {
      if (next->head <= kCellFlags) [[unlikely]]
        return settle_page(cell, size);
    }
    index_.insert(cell, size);
  }

  // Makes the block longer or shorter in place; false, and nothing is changed, if the cell behind it is not free or too
  // short. The rest of a block that is made shorter becomes free, unless it is too little for a cell. False for null.
  bool resize_in_place(void* block, size_t bytes) {
    [[maybe_unused]] const Pause pause;
    Cell* const cell = used_cell("CellHeap::resize", block);
    if (cell == nullptr || bytes > kLargestRequest) [[unlikely]]
      return false;
    const size_t size = cell_size(bytes);
    const size_t old_size = Layout::size_of(cell);
    Cell* next = Layout::behind(cell, old_size);
    const bool next_is_free = !Layout::is_used(next);
    const size_t whole = old_size + (next_is_free ? Layout::size_of(next) : 0);
    if (size > whole) return false;
    if (next_is_free) index_.remove(next, whole - old_size);
    next = Layout::behind(cell, whole);
    free_.count_in(old_size);
    // settle() expects that `next` is marked as having a free cell before it.
    if (!next_is_free && whole - size >= Layout::kSmallestCell) Trailer::template mark_free<Layout>(whole - size, next);
    settle(cell, whole, size, cell->head & kCellPrevUsed, next);
    if (Layout::size_of(cell) > old_size) permit_more(cell, old_size);
    if (Layout::size_of(cell) < old_size) forbid(Layout::next_of(cell), Layout::size_of(Layout::next_of(cell)));
    trace_.resized(block, old_size, Layout::size_of(cell));
    return true;
  }

  // As realloc(): in place if that is possible, else a new block, a copy and a free. The old block is untouched if the
  // answer is null. A null block is allocated; 0 bytes give a block of the smallest size.
  void* resize(void* block, size_t bytes) {
    if (block == nullptr) return allocate(bytes);
    if (resize_in_place(block, bytes)) return block;
    const size_t old_bytes = usable_size(block);
    void* const moved = allocate(bytes);
    if (moved == nullptr) return nullptr;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    deallocate(block);
    return moved;
  }

  // All of it may be written; constant until the block is resized or freed. 0 for null.
  static size_t usable_size(const void* block) {
    [[maybe_unused]] const Pause pause;
    return block == nullptr ? 0 : Layout::size_of(Layout::cell_of(block)) - kCellOverhead;
  }

  // False if the cheap checks see that no live block begins there. Another thread than the heap's may ask of a block
  // that it is about to hand back: what is read of a live block's cell does not change meanwhile.
  bool may_be_live(const void* block) const { return !is_suspect(Layout::cell_of(block)); }
  // Ends by Policy::Misuse with the reason why no live block begins there. O(cells).
  [[noreturn]] void report(const char* call, const void* block) const { misuse_of(call, block); }

  // Gives every empty page back to the page source. Returns the bytes given back. O(regions).
  size_t release_unused();

  // visit(CellView) for each cell, region by region, in the order of addresses. It must not use the heap.
  template <class Visit>
  void walk(Visit visit) const;

  // Null if every invariant holds, else a sentence that names the broken one. O(cells).
  const char* check() const {
    [[maybe_unused]] const Pause pause;
    return Check::run(*this);
  }

  // The statistics of this moment. O(cells).
  CellStatistics statistics() const;
  // O(1).
  size_t bytes_free() const { return free_.now(); }

  Index& index() { return index_; }
  Trace& trace() { return trace_; }
  Retention& retention() { return retention_; }
  Pages& pages() { return pages_; }

 private:
  template <class, class, class>
  friend struct CellHeapCheck;

  static constexpr size_t cell_size(size_t bytes) {
    const size_t size = Layout::round_up(bytes + kCellOverhead);
    return size < Layout::kSmallestCell ? Layout::kSmallestCell : size;
  }

  // Called if index_.take() has found nothing. Out of line, so that it costs other requests no registers.
  [[gnu::noinline]] void* allocate_close(size_t size) {
    Cell* cell = index_.take_close(size);
    if (cell == nullptr) cell = add_page(size);
    return cell == nullptr ? nullptr : occupy(cell, Layout::size_of(cell), size, kCellPrevUsed);
  }
  // Of the cells that are too short to hold an aligned block at every address, two may still hold one: a cell that such
  // a block left when it was freed, and the longest, which it left together with the gap before it.
  [[gnu::noinline]] Cell* locate_aligned(size_t alignment, size_t size, size_t longest) {
    Cell* cell = index_.first_close(size);
    if (!Layout::has_place(cell, alignment, size)) cell = index_.first_longest();
    if (!Layout::has_place(cell, alignment, size)) return add_page(longest);
    index_.remove(cell, Layout::size_of(cell));
    return cell;
  }

  // Makes a used cell of a free one that was taken out of the index.
  void* occupy(Cell* cell, size_t whole, size_t size, size_t prev_used) {
    settle(cell, whole, size, prev_used, Layout::behind(cell, whole));
    void* const block = Layout::block_of(cell);
    Tools::hand_out(block, Layout::size_of(cell) - kCellOverhead);
    trace_.allocated(block, Layout::size_of(cell));
    return block;
  }

  // Makes the first `size` of `whole` bytes a used cell; the rest becomes a free cell, if it is long enough for one.
  // The `whole` bytes end where a free cell ended.
  void settle(Cell* cell, size_t whole, size_t size, size_t prev_used, Cell* next) {
    const size_t rest = whole - size;
    if (rest >= Layout::kSmallestCell) {
      Cell* const remainder = Layout::behind(cell, size);
      put_head(remainder, rest + kCellPrevUsed);
      Trailer::template keep_free<Layout>(rest, next);
      cell->head = size + (kCellUsed | prev_used);
      Trailer::template keep_used<Layout>(size, remainder);
      free_.count_out(size);
      index_.insert(remainder, rest);
    } else {
      cell->head = whole + (kCellUsed | prev_used);
      Trailer::template mark_used<Layout>(whole, next);
      free_.count_out(whole);
    }
  }

  // Writes the head of a new cell, where the bytes are still poisoned.
  static void put_head(Cell* cell, size_t head) {
    unpoison_for_sanitizer(cell, Layout::kWord);
    cell->head = head;
  }
  // Poisons all of a free cell but its head; memcheck reports accesses to that too.
  static void forbid(Cell* cell, size_t size) { Tools::forbid(Layout::block_of(cell), size - Layout::kWord); }
  // Unpoisons what the cell has beyond its `old_size`; the contents before that stay valid.
  static void permit_more(Cell* cell, size_t old_size) {
    const size_t from = old_size - Trailer::kBytesOfUsed;
    Tools::hand_out(Layout::behind(cell, from), Layout::size_of(cell) - Trailer::kBytesOfUsed - from);
  }

  // The cell of an address that the caller passes as a live block. Null for null, which is tested only if the address
  // is suspect, so that a valid block costs no test for null.
  Cell* used_cell(const char* call, const void* block) const {
    Cell* const cell = Layout::cell_of(block);
    if (Policy::Checks::kWalks ? Check::fault_of(*this, block) != nullptr : is_suspect(cell)) [[unlikely]] {
      if (block == nullptr) return nullptr;
      misuse_of(call, block);
    }
    prove(call, block);
    return cell;
  }

  // The cheap checks. No heap holds the address 0, so null is suspect.
  bool is_suspect(const Cell* cell) const {
    return !regions_.may_hold(Layout::block_of(cell)) || !Layout::is_live(cell) ||
           !regions_.may_hold(Layout::block_of(cell), Layout::size_of(cell)) ||
           !Trailer::template agrees<Layout>(Layout::size_of(cell), Layout::next_of(cell));
  }

  // Cheap checks know only that something is wrong; to name it, this walks all cells of the region.
  [[noreturn, gnu::cold, gnu::noinline]] void misuse_of(const char* call, const void* block) const {
    const char* const fault = Check::fault_of(*this, block);
    Policy::Misuse::misuse(call, block, fault != nullptr ? fault : "memory beside the block was written over");
  }

  // With walking checks, called before an operation follows the heap's links.
  void prove(const char* call, const void* address) const {
    if constexpr (Policy::Checks::kWalks) {
      if (const char* const broken = check()) Policy::Misuse::misuse(call, address, broken);
    }
  }

  void let_go_of_regions();

  // ---- pages ------------------------------------------------------------------------------------------------------

  Cell* add_cells(void* start, size_t bytes, size_t page_bytes) {
    unpoison_for_sanitizer(start, bytes);  // a heap that was not destroyed may have poisoned it
    CellRegion* const region = regions_.lay_out(start, bytes, page_bytes);
    const size_t length = Regions::length_of(region);
    if (bytes_total_ == 0)
      free_.begin(length);
    else
      free_.count_in(length);
    bytes_total_ += length;
    forbid(Regions::first_of(region), length);
    return Regions::first_of(region);
  }

  // Takes a page that holds a cell of `size`, as one free cell in no index. The page is long enough for the same
  // request to find it when it is free again: else a program that takes and frees one block would get a new page each
  // time.
  Cell* add_page(size_t size) {
    if constexpr (kGrows) {
      const size_t need = Index::surely_found(size) + Regions::kOverhead;
      const size_t bytes = (need + Pages::kPageBytes - 1) / Pages::kPageBytes * Pages::kPageBytes;
      if (bytes > Index::kLargestCell) return nullptr;
      void* const page = pages_.take(bytes);
      if (page == nullptr) return nullptr;
      trace_.page_taken(page, bytes);
      return add_cells(page, bytes, bytes);
    }
    return nullptr;
  }

  void give_page(CellRegion* region);

  // The last step of a free, if the freed cell, in no index yet, ends its region: if the cell is all of its page, the
  // page may go back. Out of line: inlined, it would cost every free registers.
  [[gnu::noinline]] void settle_page(Cell* cell, size_t size)
    requires Retention::kWatches
  {
    auto* const region = reinterpret_cast<CellRegion*>(Layout::behind(cell, size));
    if (Regions::first_of(region) == cell && region->page_bytes != 0 && !retention_.template keeps<Regions>(region)) {
      free_.count_out(size);
      give_page(region);
    } else {
      index_.insert(cell, size);
    }
  }

  Index index_;
  Regions regions_;
  CellFreeBytes free_;
  size_t bytes_total_ = 0;
  [[no_unique_address]] Pages pages_;
  [[no_unique_address]] Retention retention_;
  [[no_unique_address]] Trace trace_;
};

}  // namespace snug
