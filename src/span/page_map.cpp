#include "span/page_map.h"

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/fixed_array.h"
#include "base/probe.h"
#include "os/memory.h"
#include "os/process.h"

namespace snug {
namespace {

constexpr size_t kGiB = size_t{1} << 30;
constexpr size_t kLeastWindow = kGiB;
constexpr size_t kUsualWindow = 64 * kGiB;
// Reservations begin small, since they count against a limit on addresses that is set later, and double.
constexpr size_t kFirstReservation = size_t{64} << 20;
constexpr size_t kLargestReservation = 16 * kFirstReservation;

// Where windows are put if the kernel agrees: above what runtimes of languages claim by address and below the program,
// at a place that differs from run to run. The places are a chunk apart: 24.5 bits of chance, where the kernel gives a
// mapping that is aligned to 2 MiB 19 of the 28 bits that it has by default (vm.mmap_rnd_bits), and 23 of 32 at most.
constexpr uintptr_t kFirstPlace = uintptr_t{32} << 40;
constexpr uintptr_t kLastPlace = uintptr_t{80} << 40;
constexpr size_t kPlaces = (kLastPlace - kFirstPlace) / kChunkSize;

// Where the classes begin in an OS page. A program that touches page after page of a block does so at their starts,
// which all compete for one set of the CPU's nearest cache: every `free` would find the class byte evicted.
constexpr size_t kClassesOffset = 45 * 64;

size_t window_size(size_t limit) {
  if (limit != SIZE_MAX) return clamp(bit_ceil(min(limit, kUsualWindow)) * 4, kLeastWindow, kUsualWindow);
  constexpr size_t kMost = size_t{1} << (32 + kPageShift);  // all that a PageId can name
  return clamp(bit_ceil(os::total_memory()) * 4, kUsualWindow, kMost);
}

size_t reservation_size(size_t limit) {
  return clamp(round_down(os::reservation_limit(limit), kChunkSize), kChunkSize, kFirstReservation);
}

// Makes the part [first, last) of an array writable, rounded outwards to OS pages.
bool make_writable(const void* first, const void* last) {
  const uintptr_t start = round_down(address_of(first), os::page_size());
  return os::commit(at<void>(start), round_up(address_of(last), os::page_size()) - start);
}

}  // namespace

bool PageMap::open() {
  const size_t limit = os::address_space_limit();
  unit_ = reservation_size(limit);
  may_double_ = limit == SIZE_MAX;
  pages_ = 0;
  const size_t size = window_size(limit);
  const size_t pages = size >> kPageShift;
  const size_t chunks = size >> kChunkShift;
  chunks_for_runs_ = min(size, limit) / 2 >> kChunkShift;
  const size_t bytes = pages * (sizeof *classes_ + sizeof *entries_) + chunks * sizeof(Chunk) + kClassesOffset;
  // Before and behind them lies a write-protected OS page: the kernel puts the program's next mapping right below, and
  // a write beyond the end of that must not reach an entry.
  const size_t guard = os::page_size();
  array_bytes_ = guard + round_up(bytes, guard) + guard;
  void* arrays = os::map_read_only(array_bytes_);
  if (arrays == nullptr) return false;
  entries_ = at<Atomic<uint64_t>>(address_of(arrays) + guard);
  chunks_ = reinterpret_cast<Chunk*>(entries_ + pages);
  classes_ = reinterpret_cast<Atomic<ScaledClass>*>(reinterpret_cast<char*>(chunks_ + chunks) + kClassesOffset);

  // Where the first reservation is to begin.
  base_ = kSanitized ? 0 : kFirstPlace + os::random_seed() % kPlaces * kChunkSize;
  next_place_.store(base_, kRelaxed);
  pages_ = pages;
  size_t at_once = 0;
  first_ = reserve(at_once);
  has_first_.store(!first_.empty(), kRelaxed);
  if (!first_.empty()) return true;
  pages_ = 0;
  os::release(arrays, array_bytes_);
  return false;
}

PageMap::Reservation PageMap::reserve_more(uint8_t store, size_t& at_once) {
  const bool is_first = has_first_.load(kRelaxed) && has_first_.exchange(false, kRelaxed);
  const Reservation more = is_first ? first_ : reserve(at_once);
  if (is_first && may_double_) at_once = unit_ * 2;
  note_store(store, more);
  return more;
}

// The reservation is the store's, whichever had its addresses before.
void PageMap::note_store(uint8_t store, Reservation reservation) {
  for (uintptr_t chunk = reservation.next; chunk != reservation.end; chunk += kChunkSize)
    store_shared(chunks_[page_of(at<void>(chunk)).chunk()].store, static_cast<uint8_t>(store + 1));
}

// Each thread that reserves claims the addresses that it asks for, or two would ask for the same.
PageMap::Reservation PageMap::reserve(size_t& at_once) {
  if (at_once == 0) at_once = unit_;
  for (size_t unit = at_once; unit >= kChunkSize; unit /= 2) {
    const uintptr_t place = next_place_.fetch_add(unit, kRelaxed);
    Reservation more = place != 0 ? reserve(place, unit) : Reservation{};
    // One chunk more than needed where the kernel may choose: its choice is not aligned to chunks.
    if (more.empty()) more = reserve(0, unit + kChunkSize);
    if (more.next != place) {
      // What was claimed is free for others; what comes next had better lie behind what came now.
      uintptr_t claimed = place + unit;
      next_place_.compare_exchange_strong(claimed, more.empty() ? place : more.end, kRelaxed);
    }
    if (more.empty()) continue;
    if (may_double_ && unit == at_once && unit < kLargestReservation) at_once *= 2;
    return more;
  }
  // After a refusal callers ask often; from now on only for one chunk, not for all those lengths.
  at_once = kChunkSize;
  return {};
}

// What lies in the window of so many bytes, near the hint if the kernel agrees.
PageMap::Reservation PageMap::reserve(uintptr_t hint, size_t bytes) {
  void* const start = os::reserve(at<void>(hint), bytes);
  if (start == nullptr) return {};
  if (!placed_ && address_of(start) != hint) {
    // The kernel chose the place of the first reservation: the window spreads around it.
    const size_t half = (pages_ << kPageShift) / 2;
    const uintptr_t middle = round_down(address_of(start), kChunkSize);
    base_ = middle > half ? middle - half : kChunkSize;
  }
  const uintptr_t first = round_up(address_of(start), kChunkSize);
  const uintptr_t last = round_down(address_of(start) + bytes, kChunkSize);
  if (first >= last || !make_arrays_writable(first, last)) {
    os::release(start, bytes);
    return {};
  }
  os::prefer_small_pages(at<void>(first), last - first);
  reserved_.fetch_add(bytes, kRelaxed);
  note_reserved(page_of(at<void>(first)), {static_cast<uint32_t>((last - first) >> kPageShift)});
  if (!placed_) placed_ = true;
  return {first, last};
}

void PageMap::note_reserved(PageId first, PageCount pages) {
  const uint32_t end = (first + pages).value;
  uint32_t lowest = first_reserved_.load(kRelaxed);
  while (first.value < lowest && !first_reserved_.compare_exchange_weak(lowest, first.value, kRelaxed)) {
  }
  uint32_t highest = end_reserved_.load(kRelaxed);
  while (end > highest && !end_reserved_.compare_exchange_weak(highest, end, kRelaxed)) {
  }
}

// False if the range lies outside of the window, or the OS refuses.
bool PageMap::make_arrays_writable(uintptr_t start, uintptr_t end) {
  if (start < base_ || !contains(at<void>(end - 1))) return false;
  const size_t first = index_of(at<void>(start));
  const size_t last = index_of(at<void>(end - 1)) + 1;
  return make_writable(classes_ + first, classes_ + last) && make_writable(entries_ + first, entries_ + last) &&
         make_writable(chunks_ + first / kPagesPerChunk, chunks_ + (last - 1) / kPagesPerChunk + 1);
}

bool PageMap::commit_chunk(void* chunk) {
  if (!os::commit(chunk, kChunkSize)) return false;
  SNUG_PROBE_2("chunk_taken", address_of(chunk), kChunkSize);
  return true;
}

bool PageMap::release_chunk(PageId first) {
  if (!os::release(start_of(first), kChunkSize)) return false;
  SNUG_PROBE_2("chunk_given_back", address_of(start_of(first)), kChunkSize);
  reserved_.fetch_sub(kChunkSize, kRelaxed);
  return true;
}

bool PageMap::retake_chunk(PageId first) {
  char* const start = start_of(first);
  if (!os::map_at(start, kChunkSize)) return false;
  os::prefer_small_pages(start, kChunkSize);
  SNUG_PROBE_2("chunk_taken", address_of(start), kChunkSize);
  reserved_.fetch_add(kChunkSize, kRelaxed);
  return true;
}

bool PageMap::release_unused(Reservation reservation) {
  const size_t bytes = reservation.end - reservation.next;
  if (!os::release(at<void>(reservation.next), bytes)) return false;
  reserved_.fetch_sub(bytes, kRelaxed);
  return true;
}

PageMap::Reservation PageMap::reserve_again(uint8_t store, Reservation& gone) {
  bool is_taken = false;
  for (size_t bytes = gone.end - gone.next; bytes != 0; bytes = round_down(bytes / 2, kChunkSize)) {
    void* const start = os::reserve(at<void>(gone.next), bytes);
    if (start == nullptr) continue;
    is_taken = address_of(start) != gone.next;
    if (is_taken) {
      os::release(start, bytes);
      continue;
    }
    os::prefer_small_pages(start, bytes);
    reserved_.fetch_add(bytes, kRelaxed);
    const Reservation again{gone.next, gone.next + bytes};
    gone.next = again.end;
    note_store(store, again);
    return again;
  }
  if (is_taken) gone = {};
  return {};
}

void* PageMap::Reservation::take() {
  if (empty()) return nullptr;
  void* const chunk = at<void>(next);
  next += kChunkSize;
  return chunk;
}

bool PageMap::Reservation::untake(void* chunk) {
  if (next != address_of(chunk) + kChunkSize) return false;
  next = address_of(chunk);
  return true;
}

}  // namespace snug
