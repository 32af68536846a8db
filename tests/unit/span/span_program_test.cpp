// Random operations on a span store, beside a model that knows of each page only whether it is in use and whether it
// is dirty.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "base/bits.h"
#include "span/own_spans.h"

namespace snug {
namespace {

struct ModelPage {
  bool used = false;
  bool dirty = false;
};

class SpanProgram {
 public:
  explicit SpanProgram(uint32_t seed) : random_(seed) {}

  void step() {
    const uint32_t choice = random_() % 1000;
    if (choice < 3)
      release_addresses();
    else if (choice < 10)
      trim();
    else if (live_.empty() || (choice < 520 && live_pages_ < 10 * kPagesPerChunk))
      allocate();
    else
      free();
    compare();
  }
  void free_all() {
    while (!live_.empty()) free();
    compare();
  }
  bool none_used() const {
    for (const auto& [page, model] : pages_)
      if (model.used) return false;
    return true;
  }

 private:
  uint32_t random_length() {
    const uint32_t most = random_() % 4 == 0 ? kPagesPerChunk : 9;
    return 1 + random_() % most;
  }

  void allocate() {
    const uint32_t pages = random_length();
    const uint32_t alignment = random_() % 4 == 0 ? 1u << random_() % 8 : 1;
    const Paging paging = random_() % 4 == 0 ? Paging::kHuge : Paging::kSmall;
    const size_t purged = own_.spans.statistics().bytes_purged;
    Span* span = own_.spans.allocate({pages}, {alignment}, paging);
    ASSERT_NE(span, nullptr);
    learn_of_way_made(*span, own_.spans.statistics().bytes_purged - purged);
    ASSERT_EQ(span->pages.value, pages);
    ASSERT_EQ(span->first.value % alignment, 0u);
    ASSERT_LE(span->first.in_chunk() + pages, kPagesPerChunk);
    if (paging == Paging::kHuge) learn_of_huge_page(*span);
    bool all_dirty = true;
    for (uint32_t i = 0; i < pages; ++i) {
      ModelPage& page = pages_[span->first.value + i];
      ASSERT_FALSE(page.used) << "two owners";
      page.used = true;
      all_dirty = all_dirty && page.dirty;
      if (!page.dirty) {
        ASSERT_EQ(*own_.page_map.start_of(span->first + PageCount{i}), 0) << "a clean page reads as zero";
      }
    }
    ASSERT_EQ(span->backed, all_dirty);
    live_.push_back(span);
    live_pages_ += pages;
  }

  bool is_dirty(PageId page) { return tests_bit(own_.page_map.chunk(page).dirty, page.in_chunk()); }

  // So much of what was kept has gone back, as new memory was taken.
  void learn_of_way_made(const Span& taken, size_t bytes) {
    size_t gone = 0;
    for (auto& [id, page] : pages_) {
      const bool is_taken = id - taken.first.value < taken.pages.value;
      if (page.used || is_taken || !page.dirty || is_dirty(PageId{id})) continue;
      page.dirty = false;
      gone += kPageSize;
    }
    ASSERT_EQ(gone, bytes);
  }

  // A request for a huge page gets a span that is dirty in part, or a chunk that counts as dirty from now on.
  void learn_of_huge_page(const Span& span) {
    bool any_clean = false;
    for (uint32_t i = 0; i < span.pages.value; ++i) any_clean = any_clean || !pages_[span.first.value + i].dirty;
    if (!any_clean || !span.backed) return;
    const uint32_t chunk = span.first.value - span.first.in_chunk();
    for (uint32_t i = 0; i < kPagesPerChunk; ++i) {
      ASSERT_FALSE(pages_[chunk + i].used) << "a chunk in use has been converted";
      pages_[chunk + i].dirty = true;
    }
  }

  void free() {
    const size_t index = random_() % live_.size();
    Span* span = live_[index];
    live_[index] = live_.back();
    live_.pop_back();
    live_pages_ -= span->pages.value;
    const PageCount touched{static_cast<uint32_t>(random_() % (span->pages.value + 1))};
    own_.touch(span, touched);
    for (uint32_t i = 0; i < span->pages.value; ++i) {
      ModelPage& page = pages_[span->first.value + i];
      page.used = false;
      page.dirty = page.dirty || i < touched.value;
    }
    own_.spans.free(span, touched);
  }

  void trim() {
    own_.spans.trim(0);
    std::map<uint32_t, uint32_t> used;  // pages by chunk
    for (const auto& [id, page] : pages_) used[PageId{id}.chunk()] += page.used ? 1 : 0;
    for (auto& [id, page] : pages_) {
      // A huge page of which less than a quarter is free stays whole.
      const bool is_huge = own_.page_map.chunk(PageId{id}).paging == Paging::kHuge;
      const uint32_t free = kPagesPerChunk - used[PageId{id}.chunk()];
      if (!page.used && !(is_huge && free * SpanStore::kPartWorthBreaking < kPagesPerChunk)) page.dirty = false;
    }
  }

  void release_addresses() {
    own_.spans.release_addresses();
    std::map<uint32_t, bool> used;  // by chunk
    for (const auto& [id, page] : pages_) used[PageId{id}.chunk()] |= page.used;
    for (auto& [id, page] : pages_)
      if (!used[PageId{id}.chunk()]) page.dirty = false;
  }

  void compare() {
    ASSERT_STREQ(own_.spans.check(), nullptr);
    const SpanStatistics now = own_.spans.statistics();
    size_t dirty = 0;
    for (const auto& [id, page] : pages_) dirty += page.dirty && !page.used ? 1 : 0;
    ASSERT_EQ(now.bytes_dirty, dirty * kPageSize);
    ASSERT_EQ(now.bytes_free + live_pages_ * kPageSize, now.chunks * kChunkSize);
  }

  unit::OwnSpans own_;
  std::mt19937 random_;
  std::map<uint32_t, ModelPage> pages_;  // those that were ever handed out
  std::vector<Span*> live_;
  size_t live_pages_ = 0;
};

TEST(SpanProgram, AgreesWithThePageModel) {
  for (uint32_t seed : {1u, 2u}) {
    SpanProgram program(seed);
    for (int step = 0; step < 10000; ++step) {
      ASSERT_NO_FATAL_FAILURE(program.step()) << "seed " << seed << ", step " << step;
      if (testing::Test::HasFatalFailure()) return;
    }
    program.free_all();
    EXPECT_TRUE(program.none_used());
  }
}

}  // namespace
}  // namespace snug
