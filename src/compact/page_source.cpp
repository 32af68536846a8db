#include "compact/page_source.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/in_place.h"
#include "base/poison.h"

namespace snug {
namespace {

// A large block that is no span lies at least so far behind the start of its mapping; the address of its record lies
// before it.
constexpr size_t kLead = kCacheLine;

}  // namespace

PageSource::PageSource(char* start, size_t bytes) {
  const size_t most_pages = bytes / kPageSize;
  free_records_ = reinterpret_cast<FreeRecord**>(start);
  taken_ = reinterpret_cast<uint64_t*>(free_records_ + kRecordLengths);
  entries_ = reinterpret_cast<Atomic<PageEntry>*>(taken_ + words_of_bits(most_pages));
  first_page_ = at<char>(round_up(address_of(entries_ + most_pages), kPageSize));
  page_limit_ = address_of(first_page_) - address_of(start) < bytes
                    ? (bytes - (address_of(first_page_) - address_of(start))) / kPageSize
                    : 0;
  if (page_limit_ != 0) memset(start, 0, address_of(entries_ + most_pages) - address_of(start));
}

PageRow PageSource::take(size_t bytes, size_t alignment) {
  if (spans_ != nullptr) return take_in_store(bytes, alignment);
  return bytes > page_limit_ * kPageSize ? PageRow{} : take_in_region((bytes + kPageSize - 1) / kPageSize, alignment);
}

PageRow PageSource::take_in_store(size_t bytes, size_t alignment) {
  if (bytes <= kChunkSize && alignment <= kChunkSize) {
    const PageCount pages{static_cast<uint32_t>((bytes + kPageSize - 1) / kPageSize)};
    const PageCount unit{static_cast<uint32_t>(max(alignment, kPageSize) / kPageSize)};
    Span* const span = spans_->allocate(home_, pages, unit);
    if (span == nullptr) return {};
    return {spans_->page_map().start_of(span->first), pages.bytes(), span, false};
  }
  const size_t lead = max(alignment, kLead);
  if (bytes > SIZE_MAX / 2 || lead > SIZE_MAX / 4) return {};
  void* const mapping = mappings_->allocate({.size = bytes + lead, .alignment = lead});
  if (mapping == nullptr) return {};
  return {static_cast<char*>(mapping) + lead, bytes, mapping, true};
}

PageRow PageSource::take_in_region(size_t pages, size_t alignment) {
  const size_t unit = max(alignment, kPageSize);
  while (lowest_ != page_limit_ && is_taken(lowest_)) {
    // A word at a time.
    const uint64_t rest = taken_[lowest_ / 64] >> lowest_ % 64;
    lowest_ = min(page_limit_, lowest_ + static_cast<size_t>(trailing_ones(rest)));
  }
  for (size_t first = lowest_; first + pages <= page_limit_;) {
    char* const start = first_page_ + first * kPageSize;
    if (const size_t beyond = address_of(start) & (unit - 1); beyond != 0) {
      first += (unit - beyond) / kPageSize;
      continue;
    }
    size_t free = 0;
    while (free != pages && !is_taken(first + free)) ++free;
    if (free == pages) {
      mark(first, pages, true);
      return {start, pages * kPageSize, nullptr, false};
    }
    first += free + 1;
  }
  return {};
}

void PageSource::give(const PageRow& row) {
  unpoison(row.start, row.bytes);
  if (spans_ == nullptr) {
    const size_t first = page_at(row.start);
    mark(first, row.bytes / kPageSize, false);
    lowest_ = min(lowest_, first);
  } else if (row.is_mapping) {
    mappings_->free(row.backing);
    mappings_->purge_as_due();
  } else {
    spans_->free(static_cast<Span*>(row.backing), PageCount{static_cast<uint32_t>(row.bytes / kPageSize)});
  }
}

void PageSource::give_to_os(const PageRow& row) {
  if (spans_ == nullptr) return give(row);
  unpoison(row.start, row.bytes);
  spans_->free_to_os(static_cast<Span*>(row.backing), PageCount{static_cast<uint32_t>(row.bytes / kPageSize)});
}

void PageSource::mark(size_t first, size_t count, bool taken) const {
  for_each_word(first, count, [&](size_t word, uint64_t mask) {
    if (taken)
      taken_[word] |= mask;
    else
      taken_[word] &= ~mask;
  });
}

void* PageSource::take_record(size_t bytes) {
  if (spans_ != nullptr) return records_.allocate(bytes);
  bytes = round_up(bytes, kCacheLine);
  FreeRecord*& list = free_records_[bytes / kCacheLine];
  if (list != nullptr) {
    FreeRecord* const record = list;
    list = record->next;
    return record;
  }
  if (static_cast<size_t>(carve_end_ - carve_) < bytes) {
    // The rest of the current page is too short for this record, and may serve a shorter one later.
    if (const auto left = static_cast<size_t>(carve_end_ - carve_); left != 0)
      add_free_record(carve_, left / kCacheLine);
    const PageRow page = take_in_region(1, kPageSize);
    carve_ = page.start;
    carve_end_ = page.start == nullptr ? nullptr : page.start + page.bytes;
    if (carve_ == nullptr) return nullptr;
  }
  void* const record = carve_;
  carve_ += bytes;
  return record;
}

void PageSource::give_record(void* record, size_t bytes) {
  if (spans_ != nullptr) return records_.free(record);
  add_free_record(record, round_up(bytes, kCacheLine) / kCacheLine);
}

void PageSource::add_free_record(void* record, size_t lines) {
  free_records_[lines] = ::new (InPlace{record}) FreeRecord{free_records_[lines], FreeRecord::mark_of(record, lines)};
}

// In the store the window tells only pages of slabs, and addresses outside, from others.
bool PageSource::may_hold_record(const void* record, size_t bytes) const {
  if (!is_aligned(address_of(record), kCacheLine) || record == nullptr) return false;
  if (spans_ != nullptr) {
    const PageMap& page_map = spans_->page_map();
    const size_t index = page_map.index_of(record);
    return index >= page_map.page_limit() || page_map.class_at(index) != 0 ||
           page_map.entry({static_cast<uint32_t>(index)}).is_of_blocks_apart();
  }
  const size_t page = page_at(record);
  return page < page_limit_ && page_at(static_cast<const char*>(record) + bytes - 1) == page && is_taken(page) &&
         tag_in_region(page).is_none();
}

bool PageSource::is_row(const PageRow& row) const {
  if (row.bytes == 0 || (row.is_mapping && spans_ == nullptr)) return false;
  if (row.is_mapping) return row.start != nullptr;
  if (!is_aligned(address_of(row.start), kPageSize) || !is_aligned(row.bytes, kPageSize)) return false;
  const size_t count = row.bytes / kPageSize;
  if (spans_ != nullptr) {
    const PageMap& page_map = spans_->page_map();
    const size_t first = page_map.index_of(row.start);
    return first < page_map.page_limit() && count <= page_map.page_limit() - first;
  }
  const size_t first = page_at(row.start);
  if (first >= page_limit_ || count > page_limit_ - first) return false;
  for (size_t i = 0; i < count; ++i)
    if (!is_taken(first + i)) return false;
  return true;
}

bool PageSource::withdraw(const PageRow& row) const {
  if (!is_row(row)) return false;
  const size_t first = page_at(row.start);
  const size_t count = row.bytes / kPageSize;
  for (size_t i = 0; i < count; ++i)
    if (!tag_in_region(first + i).is_none()) return false;
  mark(first, count, false);
  return true;
}

const char* PageSource::check(size_t tagged) const {
  if (spans_ != nullptr) return nullptr;
  for (size_t page = 0; page < page_limit_; ++page) tagged -= tag_in_region(page).is_none() ? 0 : 1;
  if (tagged != 0) return "compact heap: a page of the region is somebody's that is not known";
  if (carve_ != carve_end_ && !may_hold_record(carve_, static_cast<size_t>(carve_end_ - carve_)))
    return "compact heap: the page for new records counts as free";
  size_t left = page_limit_ * (kPageSize / kCacheLine);  // a chain that leads in a circle has more
  for (size_t length = 1; length < kRecordLengths; ++length)
    for (const FreeRecord* record = free_records_[length]; record != nullptr; record = record->next) {
      if (!may_hold_record(record, length * kCacheLine) || record->mark != FreeRecord::mark_of(record, length) ||
          left < length)
        return "compact heap: a free record is none";
      left -= length;
    }
  return nullptr;
}

void PageSource::set_page(const CompactPage& page, CompactPage* owner) {
  const PageRow& row = page.row;
  const uint16_t class_after = page.is_large() ? 0 : static_cast<uint16_t>(page.size_class + 1);
  const PageEntry entry = owner == nullptr ? PageEntry() : PageEntry::owned(owner, class_after);
  const size_t pages = row.bytes / kPageSize;
  if (spans_ == nullptr) {
    // A large block is looked up by its start only, so that to set its entry costs no more than another's.
    Atomic<PageEntry>* const first = entries_ + page_at(row.start);
    for (size_t i = 0; i != (page.is_large() ? 1 : pages); ++i) first[i].store(entry, kRelaxed);
    return;
  }
  if (row.is_mapping) {
    reinterpret_cast<CompactPage**>(row.start)[-1] = owner;
    return;
  }
  // The store's read_uses() reads the entry of every page.
  PageMap& page_map = spans_->page_map();
  const PageId first = page_map.page_of(row.start);
  for (uint32_t i = 0; i != pages; ++i) page_map.set_entry(first + PageCount{i}, entry);
}

}  // namespace snug
