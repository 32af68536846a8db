// SpanStore: chunks, and every free span in them. Where a process has many processors several stores stand beside each
// other (span/span_stores.h), each with chunks of its own.
//
// Free spans lie in bins, one a length, those with memory behind them (dirty) apart from the clean ones: a request is
// served by the shortest dirty span that fits, then by the shortest clean one, then from a new chunk. What is freed
// coalesces with its neighbours and stays dirty until it is purged: when it has lain unused for too long, or when too
// much is kept (span/keeping.h). Each span that is freed purges at most one run of pages, with one madvise, and a
// second where that breaks a huge page; or a chunk that is free as a whole, which goes with its addresses, by three
// system calls more.
//
// A heap that has proved to grow asks for chunks that the OS backs by a huge page, a fault for 2 MiB instead of 512.
// Such a chunk is dirty as a whole from the start. It goes back whole, or in parts once a quarter of it is free: less
// is not worth a huge page. What was never used of the newest such chunk, the wilderness, lies in no bin: requests that
// do not ask for huge pages would take it, and cause the next huge page.
//
//   for every chunk:   free spans do not overlap, and the entries lead to those that lie in bins; the rest is
//                      allocated, or the wilderness's
//   dirty_pages_       == number of dirty pages in free spans
//   aging_pages_       == number of those in the lists of ages that lie in OS pages which one free span fills: where OS
//                         pages are longer than ours, the others wait until their neighbours are free
//   held_pages_        == number of pages that are not free, or are dirty: what the footprint counts of the store
//   free_chunks_, released_chunks_ == number of whole chunks in the bins, and in the list of released ones
//   chunks_            == number of chunks that are ours;   splits_ == number of neighbours that are not alike, where
//                         another store's chunk is like none
//   no two free spans of one chunk are neighbours; what is detached counts as allocated
//   of a run of spans the lengths add up to what the first says; each but the first begins a chunk,
//   and each but the last ends one
//
// Thread-safe; every operation takes the one lock. O(1), except for system calls, and these happen without the lock:
// the thread has the span detached meanwhile, in no bin, and puts it back as if it had been freed. A thread that finds
// no span, and is refused by the OS, waits for the threads that have one detached.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/in_flight_gate.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/optional.h"
#include "base/pair.h"
#include "os/memory.h"
#include "span/footprint.h"
#include "span/keeping.h"
#include "span/meta_arena.h"
#include "span/page_map.h"
#include "span/span.h"
#include "span/span_counts.h"

namespace snug {

// What a page of a chunk is for: blocks of a class, a run, nothing at present, records, or something of a compacting
// heap.
enum class PageUse : uint8_t { kFree, kSlab, kRun, kRecords, kOther };

// How many refusals of the OS in a row end a give-back: what it refuses becomes young, and may soon be due again. A
// refused call is no more than a look.
inline constexpr uint32_t kMostRefusals = kLooksAtATime;

// What became of the oldest empty memory: purged, refused by the OS, or not due, as there is none or it is too young.
enum class Purge { kDone, kRefused, kNotDue };

class SpanStore {
 public:
  // The part of a huge page, or of a span in one, that is worth breaking it for: one in so many.
  static constexpr uint32_t kPartWorthBreaking = 4;
  // So many bytes of a huge page.
  static constexpr size_t kWorthBreaking = kChunkSize / kPartWorthBreaking;

  // `bounds`: on what all stores together keep. `number`: by which the page map tells its chunks from those of other
  // stores.
  constexpr SpanStore(MetaArena& arena, PageMap& page_map, Footprint& footprint, SpanTotals& totals,
                      const KeptBounds& bounds, uint8_t number = 0)
      : page_map_(page_map),
        arena_(arena),
        footprint_(footprint),
        totals_(totals),
        bounds_(bounds),
        number_(number),
        keeping_(bounds),
        records_(arena) {}

  // A span of `pages` (1 … kPagesPerChunk); its first page's address is a multiple of `alignment` pages (a power of two
  // up to kPagesPerChunk). Null if the OS refuses, or the limit on the footprint; so below. The caller owns the entries
  // and classes of its pages from now on.
  // `paging` is a wish about memory that is not there yet.
  Span* allocate(PageCount pages, PageCount alignment = {1}, Paging paging = Paging::kSmall);
  // Up to `most` such spans, the first of which is to be used first: beyond one, only what would cost no fault. None if
  // the OS refuses, or if only dirty memory is wanted and there is none. O(most).
  enum class Wanted { kAny, kDirty };
  SpanBatch allocate_some(PageCount pages, PageCount alignment, Paging paging, size_t most, Wanted wanted);
  // True if such a span would come from dirty memory now; the answer may change at once. Needs no lock.
  bool has_dirty(PageCount pages, PageCount alignment) const {
    return totals_.of[number_].longest_dirty.load(kRelaxed) >= run_with(pages, alignment).value;
  }

  // Takes back a span of which the first `touched` pages may have been written; entries and classes of its pages are 0.
  void free(Span* span, PageCount touched);
  // The same of all spans of the batch; the `written` of each says what was written. O(spans).
  void free_all(SpanBatch& batch);

  // Frees a span and purges it at once, unless it lies in a huge page, which would be broken for it. Where OS pages are
  // longer than ours, it purges the first dirty run of what the span has become with its neighbours. O(1), and a system
  // call, or a few more where its chunk is free as a whole by then.
  void free_to_os(Span* span, PageCount touched);

  // Runs: blocks of whole pages, in spans that lie one after the other. Of a run of several, all that is not
  // in its first or last chunk takes whole chunks, so that what one leaves of its last chunk serves others, and any
  // span may be cut from what is freed. Any thread that has a run's start finds the run by it, without a lock.

  // The start of a run, a multiple of `alignment` pages (a power of two up to kPagesPerChunk); null if the OS refuses,
  // or if the part of the window that runs may have is used up, or if only dirty memory is wanted and there is none, or
  // the run is longer than a chunk. Memory that was used before is not cleared. O(1) up to a chunk, else O(chunks).
  void* allocate_run(PageCount pages, PageCount alignment, Wanted wanted = Wanted::kAny);
  // Makes the first `bytes` of a run that was just allocated read as zero, or of the pages that were just added to one.
  // Pages that are clean are not touched.
  void clear_run(void* start, size_t bytes);
  // False if no run begins there. O(chunks of the run).
  bool free_run(void* start);
  // 0 pages if no run begins there. O(1), without the lock.
  PageCount length_of_run(const void* start) const;
  // Changes the length of a run that begins there, and leaves its place; false, and it stays as it was, if what follows
  // is not free, or is a part of a huge page that nothing has touched. O(chunks of the run).
  bool resize_run(void* start, PageCount pages);
  // The start of the run that the address lies in, or null. Slow: for addresses at which no run begins.
  // `length`, where it is asked for: the run's.
  void* run_around(const void* address, PageCount* length = nullptr);

  // The owner of a span calls this before it purges so many bytes of it, in holes. True if it should: from now on the
  // OS backs the chunk by small pages, so that holes stay holes. A huge page is broken for a quarter of the span at
  // least.
  bool prepare_for_holes(const Span& span, size_t bytes);

  // Gives the addresses of wholly free chunks back to an OS that has refused some, unless it gives none any more. True
  // if anything was given back.
  bool release_addresses();

  // Called after a refusal, so that the next attempt finds memory for records: where the arena has less than a page,
  // and the OS gives it none, it gets a free page. The caller holds no lock, because the
  // arena may map memory here.
  void stock_arena();

  // True if no slab lies on the page and something has, whether its memory is still there or not: that has been freed.
  bool was_used(PageId page);
  // True if memory may be behind the page, whatever it is used for.
  bool is_dirty(PageId page);

  // Purges the oldest runs of pages until about `pad` bytes remain, or `most` have gone: the last run goes whole. What
  // is free in huge pages that are in use for more than three quarters stays. Returns the bytes that went.
  size_t purge(size_t pad, size_t most);
  // The same without a bound. True if anything went.
  bool trim(size_t pad) { return purge(pad, SIZE_MAX) != 0; }
  // What the pad is compared with: bytes of dirty pages in free spans, the wilderness and what is detached left out.
  size_t bytes_to_purge();

  // Purges one run of pages if it has lain unused too long.
  Purge purge_overdue();
  // Purges one run of what is kept beyond the bounds, which drop when no thread answers the wake event any more.
  Purge purge_excess();
  // True if something will be overdue some day.
  bool ages();

  // What each page of the chunk is for; false if its addresses are not ours at present. The wilderness, and spans that
  // a thread has detached, count as free.
  bool read_uses(PageId chunk, PageUse (&uses)[kPagesPerChunk]);

  SpanStatistics statistics();
  const char* check();
  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }
  // For a fork: takes the lock at a moment when no thread has anything detached.
  void lock_at_rest() SNUG_ACQUIRE(lock_) { in_flight_.lock_at_rest(lock_); }

 private:
  using BinList = List<Span, &Span::in_bin>;
  using AgeList = List<Span, &Span::in_age>;

  // Free spans by length; `occupied` has a bit for each bin that is not empty.
  struct Bins {
    BinList by_length[kPagesPerChunk];
    uint64_t occupied[kPagesPerChunk / 64] = {};
    Span* shortest(PageCount at_least) const;
    uint32_t longest() const;  // pages; 0 if all are empty
  };

  enum class Held { kNow, kAlready };  // when the footprint counts what is taken
  Span* take_located(Span* span, PageCount pages, PageCount alignment, Held held = Held::kNow) SNUG_REQUIRES(lock_);
  Span* locate_free(PageCount pages, Paging paging, Wanted wanted, bool is_for_run = false) SNUG_REQUIRES(lock_);
  Span* locate_dirty(PageCount pages, Paging paging) SNUG_REQUIRES(lock_);
  bool extend_wilderness(PageCount pages) SNUG_REQUIRES(lock_);
  bool begin_wilderness(Span* chunk) SNUG_REQUIRES(lock_);
  // What is left of the wilderness, if any, becomes an ordinary free span. No system call.
  void retire_wilderness() SNUG_REQUIRES(lock_);
  enum class Supply { kAny, kNew };
  bool supply_chunk(Paging paging, Supply supply = Supply::kAny) SNUG_REQUIRES(lock_);
  bool advise_chunk(Span* chunk, Paging paging) SNUG_REQUIRES(lock_);
  // The OS is told by the caller, without the lock, before or after.
  void note_mapping(PageId chunk, bool is_ours, Paging paging) SNUG_REQUIRES(lock_);
  void count_chunk(bool is_ours) SNUG_REQUIRES(lock_);
  bool may_split_mappings() const;
  bool has_come_again(PageId chunk) const SNUG_REQUIRES(lock_);
  void note_released(Span* span, bool is_refused) SNUG_REQUIRES(lock_);
  void take_released(Span* span) SNUG_REQUIRES(lock_);
  void forget_released(const PageMap::Reservation& more) SNUG_REQUIRES(lock_);
  bool leave_huge_paging(const Span& span) SNUG_REQUIRES(lock_);
  void insert_chunk(Span* span) SNUG_REQUIRES(lock_);
  bool add_chunk() SNUG_REQUIRES(lock_);
  bool retake_chunk() SNUG_REQUIRES(lock_);
  bool retake(Span* span) SNUG_REQUIRES(lock_);
  uint32_t count_released(PageId first, PageCount pages) const SNUG_REQUIRES(lock_);
  Optional<PageId> retake_row(PageId first, PageCount pages) SNUG_REQUIRES(lock_);
  bool reserve() SNUG_REQUIRES(lock_);
  bool await_others() SNUG_REQUIRES(lock_);
  Span* take_in_one_chunk(PageCount pages, PageCount alignment, Wanted wanted) SNUG_REQUIRES(lock_);
  // For a run longer than a chunk. Null if the OS refuses, or if runs may have no more of the window. Drops the lock
  // for system calls and waits.
  Span* take_over_chunks(PageCount pages, PageCount alignment) SNUG_REQUIRES(lock_);
  Span* take_row(PageId first, PageCount pages) SNUG_REQUIRES(lock_);
  Span* take_for_run(PageId at, PageCount most) SNUG_REQUIRES(lock_);
  bool hold_for_run(PageId at, PageCount pages) SNUG_REQUIRES(lock_);
  bool may_extend_for_runs() const { return totals_.chunks.load(kRelaxed) < page_map_.chunks_for_runs(); }
  void put_in_run(Span* span) SNUG_REQUIRES(lock_);
  const Span* span_of_run(PageId page) const SNUG_REQUIRES(lock_);
  bool is_followed_by_free(PageId end, PageCount pages) const SNUG_REQUIRES(lock_);
  bool lengthen_run(Span* first, PageCount more) SNUG_REQUIRES(lock_);
  SpanBatch shorten_run(Span* first, PageCount pages) SNUG_REQUIRES(lock_);
  void insert_freed(SpanBatch& batch) SNUG_REQUIRES(lock_);
  void prepare_records() SNUG_REQUIRES(lock_);
  Span* any_free() const SNUG_REQUIRES(lock_);
  bool give_to_arena(Span* span) SNUG_REQUIRES(lock_);
  Span* cut(Span* span, PageCount pages) SNUG_REQUIRES(lock_);
  Span* merge_neighbours(Span* span) SNUG_REQUIRES(lock_);
  Span* absorb(Span* left, Span* right) SNUG_REQUIRES(lock_);
  void insert(Span* span) SNUG_REQUIRES(lock_);
  void remove(Span* span) SNUG_REQUIRES(lock_);
  const char* check_chunks() SNUG_REQUIRES(lock_);
  const char* check_mappings() SNUG_REQUIRES(lock_);
  const char* check_runs() SNUG_REQUIRES(lock_);
  bool is_ours(PageId chunk) const { return page_map_.is_of_store(chunk, number_); }
  // The state of the chunk's addresses; one that is not ours looks like addresses that nobody has. Not the whole record
  // is copied: a thread that reserves writes of which store it is without the lock.
  Chunk look_at(PageId chunk) const {
    Chunk seen;
    if (!is_ours(chunk)) return seen;
    const Chunk& record = page_map_.chunk(chunk);
    seen.is_ours = record.is_ours;
    seen.paging = record.paging;
    seen.is_released = record.is_released;
    return seen;
  }
  uint32_t count_dirty(const Span& span) SNUG_REQUIRES(lock_);
  static uint32_t pages_in_os_page() { return static_cast<uint32_t>(max(os::page_size(), kPageSize) >> kPageShift); }
  static Pair<uint32_t, uint32_t> whole_os_pages(const Span& span);
  uint32_t count_purgeable(const Span& span) SNUG_REQUIRES(lock_);
  void mark_dirty(PageId first, PageCount pages) SNUG_REQUIRES(lock_);
  void count_growth(PageId first, PageCount pages) SNUG_REQUIRES(lock_);
  size_t count_clean(const Span& span) SNUG_REQUIRES(lock_) { return span.pages.value - count_dirty(span); }
  void summon_as_due() const {
    if (totals_.chunks.load(kRelaxed) > 1) bounds_.summon();
  }
  bool hold(size_t pages) SNUG_REQUIRES(lock_);
  void hold_anyway(size_t pages) SNUG_REQUIRES(lock_);
  void let_go(size_t pages) SNUG_REQUIRES(lock_);
  void detach(Span* span) SNUG_REQUIRES(lock_);
  void leave_hand(const Span& span) SNUG_REQUIRES(lock_);
  size_t purge_run(Span* span) SNUG_REQUIRES(lock_);
  size_t give_back_chunk(Span* span) SNUG_REQUIRES(lock_);
  bool release_chunk(Span* span) SNUG_REQUIRES(lock_);
  PageCount clean(Chunk& chunk, uint32_t first, PageCount pages) SNUG_REQUIRES(lock_);
  void put_last(Span* span) SNUG_REQUIRES(lock_);
  Span* older_than(uint32_t milliseconds) SNUG_REQUIRES(lock_);
  size_t bytes_in_use() const SNUG_REQUIRES(lock_);
  Keeping::Use use() const SNUG_REQUIRES(lock_);
  Span* excess() SNUG_REQUIRES(lock_);
  size_t purge_excess(Span* span) SNUG_REQUIRES(lock_);
  void purge_as_due() SNUG_REQUIRES(lock_);
  void purge_for_growth() SNUG_REQUIRES(lock_);
  Span* any_dirty() SNUG_REQUIRES(lock_);
  Span* oldest_of_huge_pages() SNUG_REQUIRES(lock_);
  void age_no_longer(Span* span) SNUG_REQUIRES(lock_);
  // Any run of this length holds an aligned start for `pages`. A chunk is aligned to its own length, so that a whole
  // one always does.
  static PageCount run_with(PageCount pages, PageCount alignment) {
    return {min<uint32_t>(pages.value + alignment.value - 1, kPagesPerChunk)};
  }
  uint32_t longest_dirty() SNUG_REQUIRES(lock_);
  void note_aging(size_t pages) SNUG_REQUIRES(lock_);
  // Needs no lock; the answer may change at once. Nothing is due then.
  bool keeps_nothing() const { return totals_.of[number_].kept.load(kRelaxed) == 0; }
  // A huge page is broken once a quarter of it is free, and not for less.
  static bool is_worth_breaking(const Chunk& chunk) { return chunk.free_pages * kPartWorthBreaking >= kPagesPerChunk; }
  AgeList& age_list(Paging paging) SNUG_REQUIRES(lock_) { return ages_[static_cast<size_t>(paging)]; }
  Bins& bins(Paging paging, bool dirty) SNUG_REQUIRES(lock_) {
    return bins_[static_cast<size_t>(paging)][dirty ? 1 : 0];
  }

  // What is read without the lock.
  alignas(kCacheLine) PageMap& page_map_;
  MetaArena& arena_;
  Footprint& footprint_;
  SpanTotals& totals_;
  const KeptBounds& bounds_;
  const uint8_t number_;

  alignas(kCacheLine) SharedLock lock_;
  InFlightGate in_flight_;
  Keeping keeping_ SNUG_GUARDED_BY(lock_);
  bool reserves_ SNUG_GUARDED_BY(lock_) = false;  // a thread is reserving addresses
  PageMap::Reservation newest_ SNUG_GUARDED_BY(lock_);
  // The rest of one that went back, or nothing. It comes again before others, or each that goes would take new
  // addresses.
  PageMap::Reservation given_back_ SNUG_GUARDED_BY(lock_);
  size_t reserves_at_once_ = 0;  // bytes; of the thread that is reserving
  // Where its chunks lie, others' between them perhaps.
  PageId first_chunk_ SNUG_GUARDED_BY(lock_) = {UINT32_MAX};
  PageId end_chunk_ SNUG_GUARDED_BY(lock_) = {0};
  RecordPool<Span> records_ SNUG_GUARDED_BY(lock_);
  Bins bins_[2][2] SNUG_GUARDED_BY(lock_);  // by paging; clean, dirty
  Span* wilderness_ SNUG_GUARDED_BY(lock_) = nullptr;
  AgeList ages_[2] SNUG_GUARDED_BY(lock_);   // by paging: what purging looks at, oldest first
  BinList released_ SNUG_GUARDED_BY(lock_);  // whole chunks of which the addresses are released
  size_t dirty_pages_ SNUG_GUARDED_BY(lock_) = 0;
  size_t aging_pages_ SNUG_GUARDED_BY(lock_) = 0;  // of those, what would go by age
  size_t free_pages_ SNUG_GUARDED_BY(lock_) = 0;
  size_t free_chunks_ SNUG_GUARDED_BY(lock_) = 0;      // whole ones in the bins
  size_t released_chunks_ SNUG_GUARDED_BY(lock_) = 0;  // in released_
  size_t held_pages_ SNUG_GUARDED_BY(lock_) = 0;
  size_t dirty_detached_ SNUG_GUARDED_BY(lock_) = 0;  // pages of free spans that are detached
  size_t free_detached_ SNUG_GUARDED_BY(lock_) = 0;
  size_t chunks_ SNUG_GUARDED_BY(lock_) = 0;
  size_t runs_ SNUG_GUARDED_BY(lock_) = 0;
  size_t run_pages_ SNUG_GUARDED_BY(lock_) = 0;
  size_t bytes_purged_ SNUG_GUARDED_BY(lock_) = 0;
  size_t bytes_refaulted_ SNUG_GUARDED_BY(lock_) = 0;
  size_t bytes_grown_ SNUG_GUARDED_BY(lock_) = 0;  // the part of the total that is of this store
  // The part of that for which as much was purged, or nothing was left to purge.
  size_t made_way_ SNUG_GUARDED_BY(lock_) = 0;
  uint32_t splits_ SNUG_GUARDED_BY(lock_) = 0;  // neighbours of which only one is ours, or of different paging
};

}  // namespace snug
