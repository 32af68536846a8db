// The checks of a compacting heap's pages. In a region a check ends with an answer whatever was written over the pages'
// records: it follows no pointer before it knows that a record lies there. In the store it cannot know that.
#include "base/atomic.h"
#include "base/bits.h"
#include "compact/block_pages.h"

namespace snug {

// Checks the record of a class. Its address stands in the heap itself, not in a region that may be damaged.
const char* BlockPages::check_class(size_t size_class) const {
  const PageBin* const bin = this->bin(size_class);
  if (bin == nullptr) return nullptr;
  if (!source_.may_hold_record(bin, sizeof *bin)) return "compact heap: the record of a class lies in no page for it";
  const bool is_kind = size_class >= map_.count();
  const size_t block = is_kind ? bin->sizes.block : map_[size_class].block;
  if (block == 0 || block > BlockMap::kLargest || bin->size_class != size_class ||
      is_kind != (bin->relocate != nullptr) || bin->lock.is_shared() != shares_classes_ || bin->bound == 0)
    return "compact heap: what a class is was written over";
  return bin->sizes == (is_kind ? BlockClass(block, pages_for_blocks_of(block)) : map_[size_class])
             ? nullptr
             : "compact heap: the sizes of a class were written over";
}

// True if the address, of which nothing is known yet, is that of a page's record. Classes have been checked before.
bool BlockPages::is_page(const CompactPage* page) const {
  if (!source_.may_hold_record(page, sizeof *page) || page->home != this) return false;
  if (page->blocks == 0 || page->words != words_of_bits(page->blocks) || page->blocks > BlockMap::kMostBlocks ||
      !source_.may_hold_record(page, record_bytes(page->blocks)) || !source_.is_row(page->row))
    return false;
  if (page->size_class == CompactPage::kLarge)
    return page->bin == nullptr && page->blocks == 1 && page->block == page->row.bytes && page->inverse == 0;
  if (page->size_class >= count() || page->bin == nullptr || page->bin != this->bin(page->size_class)) return false;
  const BlockClass& sizes = page->bin->sizes;
  return page->block == sizes.block && page->blocks == sizes.blocks && page->inverse == sizes.inverse &&
         page->row.bytes == sizes.bytes() && page->relocate == page->bin->relocate;
}

// Checks that all lists link records of pages. After this, the pages can be read.
const char* BlockPages::check_links() const {
  for (size_t i = 0; i < count(); ++i)
    if (const char* const broken = check_class(i); broken != nullptr) return broken;
  const auto is_page = [this](const CompactPage* page) { return this->is_page(page); };
  bool is_linked = all_.is_linked(is_page) && leaving_.is_linked(is_page) && spares_.is_linked(is_page);
  for_each_bin([&](const PageBin& bin) {
    bin.lock.assume_held();
    for (size_t list = 0; list <= CompactPage::kLevels; ++list)
      is_linked = is_linked && bin.list(list).is_linked(is_page);
  });
  return is_linked ? nullptr : "compact heap: the record of a page was written over";
}

bool BlockPages::lie_records_in_pages() const {
  bool all = true;
  const auto look = [&](const CompactPage& page) {
    all = all && source_.may_hold_record(&page, record_bytes(page.blocks));
  };
  for_each_page(look);
  for_each_empty(look);
  for_each_bin([&](const PageBin& bin) { all = all && source_.may_hold_record(&bin, sizeof bin); });
  return all;
}

// Empty rows will be handed out next: in a region none may lie in the pages of another row, nor in those of records. In
// the store this is not checked, as it does not tell them from other spans in use.
const char* BlockPages::check_empty_rows(size_t tagged) const {
  if (source_.asks_the_os()) return nullptr;
  size_t withdrawn = 0;
  bool is_apart = true;
  for_each_empty([&](const CompactPage& page) {
    is_apart = is_apart && source_.withdraw(page.row);
    withdrawn += is_apart ? 1 : 0;
  });
  const char* const broken = !is_apart || !lie_records_in_pages() ? "compact heap: an empty row lies in another's pages"
                                                                  : source_.check(tagged);
  for_each_empty([&](const CompactPage& page) {
    if (withdrawn == 0) return;
    --withdrawn;
    source_.put_back(page.row);
  });
  return broken;
}

// True if the source's entries of the row lead to the page: the entry of each of its pages; of a large block's the
// first.
bool BlockPages::is_known(const CompactPage& page) const {
  if (page.row.is_mapping) return source_.page_of(page.row.start) == &page;
  const size_t pages = page.is_large() ? 1 : page.row.bytes / kPageSize;
  for (size_t i = 0; i < pages; ++i)
    if (source_.find_page(page.row.start + i * kPageSize) != &page) return false;
  return source_.class_after(page.row.start) == (page.is_large() ? 0u : page.size_class + 1u);
}

const char* BlockPages::check_page(const CompactPage& page) const {
  size_t used = 0;
  size_t pinned = 0;
  for (size_t word = 0; word < page.words; ++word) {
    const uint64_t bits = page.bits()[word];
    const uint64_t all = page.all_of(word);
    if ((bits & ~all) != 0) return "compact heap: a bit stands for no block";
    if ((bits != 0) != ((page.free_words >> word & 1) != 0) || (bits != all) != ((page.used_words >> word & 1) != 0))
      return "compact heap: a page's words of bits are not summed up rightly";
    used += count_ones(all & ~bits);
  }
  if (has_owners_)
    for (size_t i = 0; i < page.blocks; ++i) pinned += page.holds(i) && page.owner(i).pins() != 0 ? 1 : 0;
  if (used != page.used) return "compact heap: the count of a page's used blocks is wrong";
  if (used == 0) return "compact heap: an empty page is kept";
  if (page.carved > page.blocks || page.last_used() >= page.carved)
    return "compact heap: a block counts as one whose memory was never touched";
  if (pinned != page.pinned) return "compact heap: the count of a page's pinned blocks is wrong";
  if (!is_known(page)) return "compact heap: a page is not known as the heap's";
  if (page.is_large()) return page.list == CompactPage::kUnlisted ? nullptr : "compact heap: a large block is listed";
  const uint8_t list = PageBin::list_for(page);
  const bool is_level = list < CompactPage::kLevels && page.list < CompactPage::kLevels;
  if (!page.is_in_place() || !PageBin::has_its_range(page) || (page.list != list && !is_level))
    return "compact heap: a page is listed where it does not belong";
  return nullptr;
}

const char* BlockPages::check_bin(size_t size_class, const Counted& counted) const {
  if (this->bin(size_class) == nullptr) return counted.pages == 0 ? nullptr : "compact heap: a page is of no class";
  const PageBin& bin = *this->bin(size_class);
  if (bin.pages != counted.pages || bin.used != counted.used) return "compact heap: the counts of a class are wrong";
  size_t listed[CompactPage::kLevels + 1] = {};
  size_t uncarved = 0;
  for (size_t list = 0; list <= CompactPage::kLevels; ++list)
    for (const CompactPage* page = bin.list(list).front(); page != nullptr; page = PageBin::Pages::next(page)) {
      if (page->bin != &bin || page->list != list) return "compact heap: a page lies in another's list";
      ++listed[list];
      uncarved += page->is_carved() ? 0 : 1;
    }
  if (uncarved > 1) return "compact heap: several pages of a class have memory yet to be touched";
  size_t open = 0;
  for (size_t level = 0; level < CompactPage::kLevels; ++level) open += listed[level];
  if (open != bin.open() || listed[CompactPage::kHeld] != bin.held())
    return "compact heap: the count of pages that are not full is wrong";
  if (bin.open() + bin.held() != counted.not_full) return "compact heap: a page that is not full is not listed";
  return bin.is_summed_up() ? nullptr : "compact heap: a class's lists are not summed up rightly";
}

// Checks the counts of bytes against sums over all pages; those do not include spare rows.
const char* BlockPages::check_bytes(size_t all, size_t large, size_t records) const {
  size_t spare = 0;
  spares_.for_each([&](const CompactPage& page) {
    spare += page.row.bytes;
    records += record_bytes(page.blocks);
  });
  for_each_bin([&](const PageBin&) { records += sizeof(PageBin); });
  if (spare != spares_.bytes()) return "compact heap: the count of bytes in empty pages is wrong";
  if (all != bytes_pages_ || large != bytes_large_) return "compact heap: the count of bytes in pages is wrong";
  return records == bytes_records_ ? nullptr : "compact heap: the count of bytes in records is wrong";
}

const char* BlockPages::check() const {
  Counted classes[kMostBins] = {};
  size_t large = 0;
  size_t bytes = 0;
  size_t bytes_large = 0;
  size_t bytes_records = 0;
  size_t tagged = 0;
  const char* broken = check_links();
  if (broken != nullptr) return broken;
  for_each_page([&](const CompactPage& page) {
    if (broken == nullptr) broken = check_page(page);
    tagged += page.is_large() ? 1 : page.row.bytes / kPageSize;
    bytes += page.row.bytes;
    bytes_records += record_bytes(page.blocks);
    if (page.is_large()) {
      ++large;
      bytes_large += page.block;
    } else {
      Counted& of_class = classes[page.size_class];
      ++of_class.pages;
      of_class.used += page.used;
      of_class.not_full += page.is_full() ? 0 : 1;
    }
  });
  if (broken == nullptr) broken = check_empty_rows(tagged);
  if (broken != nullptr) return broken;
  if (large != large_blocks_) return "compact heap: the count of large blocks is wrong";
  if (spares_.bytes() > most_spare() && !owes_.load(kRelaxed))
    return "compact heap: more empty pages are kept than may be";
  for (size_t i = 0; i < count() && broken == nullptr; ++i) broken = check_bin(i, classes[i]);
  return broken != nullptr ? broken : check_bytes(bytes, bytes_large, bytes_records);
}

}  // namespace snug
