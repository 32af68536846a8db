// The rows of pages that a region gives, beside a walk over all of its pages.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <vector>

#include "heap/heap_region.h"
#include "pattern.h"
#include "span/meta_arena.h"

namespace snug {
namespace {

class Regions {
 public:
  Regions(size_t first, size_t pages) : first_(first), taken_(pages) {
    EXPECT_EQ(map_.claim(first, first + pages), RegionMap::Claim::kDone);
  }

  // Takes a row, and expects the first that fits; null if none does.
  char* take(size_t pages, size_t alignment) {
    char* const start = region_.take(pages, alignment);
    const size_t page = first_row(pages, alignment);
    EXPECT_EQ(RegionMap::page_of(start), page == taken_.size() ? 0 : first_ + page) << pages << " at " << alignment;
    if (start != nullptr) set(page, pages, true);
    return start;
  }
  void give(char* start, size_t pages) {
    region_.give(start, pages);
    set(RegionMap::page_of(start) - first_, pages, false);
  }
  // The region is not told, as one that forgets a row would have it.
  void give_unseen(char* start, size_t pages) { map_.set_taken(RegionMap::page_of(start), pages, false); }
  const char* check() const { return region_.check(); }
  // Gives the row another length; that it then has.
  size_t resize(char* start, size_t pages, size_t new_pages) {
    const size_t page = RegionMap::page_of(start) - first_;
    const bool fits = new_pages <= pages || is_free(page + pages, new_pages - pages);
    EXPECT_EQ(region_.resize(start, pages, new_pages), fits);
    if (!fits) return pages;
    set(page, pages, false);
    set(page, new_pages, true);
    return new_pages;
  }

 private:
  bool is_free(size_t page, size_t pages) const {
    if (page + pages > taken_.size()) return false;
    for (size_t i = 0; i != pages; ++i)
      if (taken_[page + i]) return false;
    return true;
  }
  size_t first_row(size_t pages, size_t alignment) const {
    for (size_t page = 0; page != taken_.size(); ++page)
      if ((first_ + page) % alignment == 0 && is_free(page, pages)) return page;
    return taken_.size();
  }
  void set(size_t page, size_t pages, bool is_taken) {
    for (size_t i = 0; i != pages; ++i) taken_[page + i] = is_taken;
  }

  MetaArena arena_;
  RegionMap map_{arena_};
  const size_t first_;
  std::vector<bool> taken_;
  HeapRegion region_{map_, reinterpret_cast<void*>(first_ << kPageShift), taken_.size() << kPageShift};
};

// Nothing of a region is touched, so that it need not be there. Both begin and end within words of the map, the second
// lies in two of its leaves.
TEST(HeapRegionRows, AreTheFirstThatFit) {
  for (const size_t first : {size_t{131}, (size_t{3} << (30 - kPageShift)) - 333}) {
    Regions regions(first, 1500);
    pattern::Random random(first);
    std::map<char*, size_t> rows;
    const auto any = [&] { return std::next(rows.begin(), static_cast<ptrdiff_t>(random.below(rows.size()))); };
    for (int step = 0; step < 20'000 && !testing::Test::HasFailure(); ++step) {
      const bool is_filling = step / 500 % 3 != 0;
      if (rows.empty() || random.below(10) < (is_filling ? 6 : 3)) {
        const size_t pages = 1 + random.size(10);
        if (char* const start = regions.take(pages, size_t{1} << random.below(6))) rows[start] = pages;
      } else if (random.below(8) == 0) {
        const auto row = any();
        row->second = regions.resize(row->first, row->second, 1 + random.size(9));
      } else {
        const auto row = any();
        regions.give(row->first, row->second);
        rows.erase(row);
      }
    }
  }
}

TEST(HeapRegionRows, AreNotPassedBy) {
  Regions regions(131, 300);
  char* const first = regions.take(4, 1);
  char* const second = regions.take(4, 1);
  EXPECT_NE(regions.take(8, 1), nullptr);
  EXPECT_EQ(regions.check(), nullptr);
  regions.give(first, 4);
  EXPECT_EQ(regions.check(), nullptr);
  EXPECT_EQ(regions.take(4, 1), first);
  EXPECT_NE(regions.take(4, 1), nullptr);
  regions.give_unseen(second, 4);
  EXPECT_NE(regions.check(), nullptr);
}

}  // namespace
}  // namespace snug
