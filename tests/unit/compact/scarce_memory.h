// Memory for compacting heaps that ends where a test says: records, pages of a store, and a region.
#pragma once

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/atomic.h"
#include "base/bits.h"
#include "compact/page_source.h"
#include "os/system_call_hook.h"
#include "span/mapping_store.h"
#include "span/own_spans.h"

namespace snug::unit {

// Which requests are refused: one, or all from one on.
enum class Refusal { kOnce, kFromThenOn };

// Memory for records. A source asks two functions for it, so there is one of these. It is malloc's, so that
// AddressSanitizer sees a record that is used after it went.
class ScarceRecords {
 public:
  static constexpr RecordMemory memory() { return {allocate, free}; }

  // Refuses that request, counted from this moment.
  static void refuse(size_t number, Refusal how) {
    asked_ = refused_ = 0;
    first_ = number;
    end_ = how == Refusal::kOnce ? number + 1 : SIZE_MAX;
  }
  static void refuse_none() { first_ = end_ = 0; }
  // Refuses what would make them more than there are now.
  static void refuse_more() { most_ = live_; }
  static void refuse_no_more() { most_ = SIZE_MAX; }
  static size_t refused() { return refused_; }
  static size_t live() { return live_; }

 private:
  static void* allocate(size_t bytes) {
    const size_t number = asked_++;
    if ((number >= first_ && number < end_) || live_ >= most_) return ++refused_, nullptr;
    ++live_;
    return std::aligned_alloc(kCacheLine, round_up(bytes, kCacheLine));
  }
  static void free(void* record) {
    --live_;
    std::free(record);
  }

  static inline size_t asked_ = 0;
  static inline size_t refused_ = 0;
  static inline size_t first_ = 0;
  static inline size_t end_ = 0;
  static inline size_t live_ = 0;
  static inline size_t most_ = SIZE_MAX;
};

// A store of its own, of which it may have all pages itself but a few.
class ScarceStore {
 public:
  ScarceStore() { set_retention(large_.bounds(), kForever); }
  ~ScarceStore() {
    const SpanStatistics statistics = own_.spans.statistics();
    EXPECT_EQ(statistics.bytes_free, statistics.chunks * kChunkSize) << "no page is left";
  }
  ScarceStore(const ScarceStore&) = delete;
  ScarceStore& operator=(const ScarceStore&) = delete;

  PageSource source() { return {own_.stores, large_, ScarceRecords::memory()}; }

  // So many pages, which lie in a row, are free from now on, and the OS gives no more.
  void leave(size_t pages) {
    give_all();
    while (free_pages() != 0) taken_.push_back(own_.spans.allocate({1}));
    ASSERT_GE(taken_.size(), pages);
    for (; pages != 0; --pages) give_last();
    refused_ = 0;
    refuses_ = std::make_unique<SystemCallHook>(SYS_mprotect, [this] { return ++refused_, false; });
  }
  size_t refused() const { return refused_; }
  // No more of that.
  void leave_all() {
    EXPECT_EQ(own_.spans.allocate({kPagesPerChunk}), nullptr) << "no chunk is to be had";
    refuses_.reset();
    give_all();
  }
  void expect_sound() { EXPECT_STREQ(own_.spans.check(), nullptr); }

 private:
  size_t free_pages() { return own_.spans.statistics().bytes_free / kPageSize; }
  void give_last() {
    own_.spans.free(taken_.back(), {0});
    taken_.pop_back();
  }
  void give_all() {
    while (!taken_.empty()) give_last();
  }

  OwnSpans own_;
  Atomic<size_t> grown_{0};
  MappingStore large_{own_.arena, grown_, own_.footprint};
  std::vector<Span*> taken_;
  std::unique_ptr<SystemCallHook> refuses_;
  size_t refused_ = 0;
};

// A region of so many pages, with whatever in it.
class ScarceRegion {
 public:
  explicit ScarceRegion(size_t pages)
      : bytes_(pages * kPageSize), start_(static_cast<char*>(std::aligned_alloc(kPageSize, bytes_))) {
    std::memset(start_, 0x5a, bytes_);
  }
  ~ScarceRegion() { std::free(start_); }
  ScarceRegion(const ScarceRegion&) = delete;
  ScarceRegion& operator=(const ScarceRegion&) = delete;

  PageSource source() const { return {start_, bytes_}; }

 private:
  const size_t bytes_;
  char* const start_;
};

}  // namespace snug::unit
