// SpanStore's checks of its invariants.
#include "base/fixed_array.h"
#include "span/span_store.h"

namespace snug {

// Checks, chunk by chunk, that each entry of a free span leads to one that begins there and does not overlap the next,
// and that these are as many pages as the counts say: check() walks the bins.
const char* SpanStore::check_chunks() {
  size_t found = 0;
  for (PageId chunk = page_map_.first_reserved(); chunk < page_map_.end_reserved();
       chunk = chunk + PageCount{kPagesPerChunk}) {
    if (!look_at(chunk).is_ours) continue;
    const size_t before = found;
    for (uint32_t i = 0; i < kPagesPerChunk;) {
      const PageEntry entry = page_map_.entry(chunk + PageCount{i});
      if (!entry.is_free_span()) {
        ++i;
        continue;
      }
      const Span* const span = entry.record<Span>();
      if (span->first != chunk + PageCount{i} || span->pages.value > kPagesPerChunk - i)
        return "span store: a tag leads to no free span that begins there";
      for (const uint32_t end = i + span->pages.value; i < end; ++i)
        if (page_map_.class_at((chunk + PageCount{i}).value) != 0)
          return "span store: a page of a free span has a class";
      found += span->pages.value;
    }
    if (found - before != page_map_.chunk(chunk).free_pages)
      return "span store: a chunk's record says wrongly how much of it is free";
  }
  return found == free_pages_ ? nullptr : "span store: the tags of chunks do not lead to what lies in the bins";
}

const char* SpanStore::check_mappings() {
  size_t chunks = 0;
  size_t released = 0;
  uint32_t splits = 0;
  Chunk before;
  const PageCount one{kPagesPerChunk};
  for (PageId chunk = page_map_.first_reserved(); chunk < page_map_.end_reserved(); chunk = chunk + one) {
    const Chunk record = look_at(chunk);
    if (record.is_released && record.is_ours) return "span store: a released chunk is ours";
    chunks += record.is_ours ? 1 : 0;
    released += record.is_released ? 1 : 0;
    splits += record.is_like(before) ? 0 : 1;
    before = record;
  }
  splits += before.is_like(Chunk()) ? 0 : 1;
  size_t in_list = 0;
  for (const Span* span = released_.front(); span != nullptr; span = BinList::next(span), ++in_list) {
    if (!is_ours(span->first)) continue;  // another store has reserved its place since
    if (!look_at(span->first).is_released) return "span store: the record of a released chunk says it is not";
    --released;
  }
  if (released != 0 || in_list != released_chunks_) return "span store: a chunk counts as released and is not";
  return chunks == chunks_ && splits == splits_ ? nullptr : "span store: the counts of chunks and mappings are wrong";
}

const char* SpanStore::check_runs() {
  size_t runs = 0;
  size_t run_pages = 0;
  for (PageId page = page_map_.first_reserved(); page < page_map_.end_reserved(); page = page + PageCount{1}) {
    if (page.in_chunk() == 0 && !look_at(page).is_ours) {
      page = page + PageCount{kPagesPerChunk - 1};
      continue;
    }
    const PageEntry entry = page_map_.entry(page);
    if (!entry.is_run() || entry.record<Span>()->run.value == 0) continue;
    const PageCount length = entry.record<Span>()->run;
    const PageId end = page + length;
    for (PageId next = page; next < end;) {
      const PageEntry part = page_map_.entry(next);
      const Span* const span = part.is_run() ? part.record<Span>() : nullptr;
      if (span == nullptr || span->first != next || span->pages.value > (end - next).value)
        return "span store: the spans of a run do not add up to its length";
      const PageId behind = next + span->pages;
      if ((next != page && (next.in_chunk() != 0 || span->run.value != 0)) || (behind != end && behind.in_chunk() != 0))
        return "span store: a run is no row of whole chunks";
      next = behind;
    }
    ++runs;
    run_pages += length.value;
  }
  return runs == runs_ && run_pages == run_pages_ ? nullptr : "span store: the counts of runs are wrong";
}

const char* SpanStore::check() {
  LockGuard guard(lock_);
  size_t dirty_pages = 0;
  size_t aging_pages = 0;
  size_t free_pages = 0;
  size_t free_chunks = 0;
  for (Bins* bins : FixedArray{&bins_[0][0], &bins_[1][0], &bins_[0][1], &bins_[1][1]}) {
    for (uint32_t bin = 0; bin < kPagesPerChunk; ++bin) {
      const BinList& list = bins->by_length[bin];
      if (tests_bit(bins->occupied, bin) == list.empty()) return "span store: a bin's bit contradicts its list";
      for (const Span* span = list.front(); span != nullptr; span = BinList::next(const_cast<Span*>(span))) {
        const PageId last = span->first + (span->pages - PageCount{1});
        if (span->pages.value != bin + 1) return "span store: a span lies in a bin of another length";
        if (span->first.chunk() != last.chunk()) return "span store: a free span crosses chunks";
        if (page_map_.entry(span->first).record<Span>() != span || page_map_.entry(last).record<Span>() != span ||
            !page_map_.entry(span->first).is_free_span() || !page_map_.entry(last).is_free_span())
          return "span store: the boundary tags of a free span do not name it";
        const PageId next = last + PageCount{1};
        if (next.in_chunk() != 0 && page_map_.entry(next).is_free_span())
          return "span store: two free spans are neighbours";
        const uint32_t dirty = count_dirty(*span);
        if (span->dirty != (dirty != 0) || (bins != &bins_[0][span->dirty] && bins != &bins_[1][span->dirty]))
          return "span store: a free span is binned as clean and is dirty, or the reverse";
        dirty_pages += dirty;
        aging_pages += span->aging ? count_purgeable(*span) : 0;
        free_pages += span->pages.value;
        free_chunks += span->pages.value == kPagesPerChunk ? 1 : 0;
      }
    }
  }
  if (totals_.of[number_].longest_dirty.load(kRelaxed) != longest_dirty())
    return "span store: the longest dirty span is another";
  if (wilderness_ != nullptr && page_map_.entry(wilderness_->first).is_free_span())
    return "span store: the wilderness lies in a bin";
  if (in_flight_.is_empty() && (dirty_detached_ != 0 || free_detached_ != 0))
    return "span store: pages that no thread has detached count as detached";
  if (dirty_pages != dirty_pages_ || aging_pages != aging_pages_ || free_pages != free_pages_ ||
      free_chunks != free_chunks_)
    return "span store: the page counts are wrong";
  if (held_pages_ != chunks_ * kPagesPerChunk - free_pages_ - free_detached_ + dirty_pages_ + dirty_detached_)
    return "span store: the count of held pages is wrong";
  for (const auto check : FixedArray{&SpanStore::check_chunks, &SpanStore::check_mappings})
    if (const char* const broken = (this->*check)(); broken != nullptr) return broken;
  return check_runs();
}

}  // namespace snug
