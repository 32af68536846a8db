// PageStock: pages that heaps have left which the thread ended, for the next heaps that it takes blocks from. A program
// that makes a heap a request gives back and takes the same pages over and over: in the span store, under the lock of
// all threads, that took two fifths of a request's time, so that two threads were no faster than one.
//
//   count_ == pages in pages_ <= kMost;   each is a span of one page, out of a span store
//   all stocks together have at most as many pages as the span stores may keep (HeapParts::stock_bound)
//
// It is a cache, and comes home as caches do: when the thread ends, or has not taken from it for a round of the
// background thread's, at a trim, and before memory is refused. The thread alone puts pages there.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/lock.h"
#include "base/thread_relative.h"
#include "span/span.h"

namespace snug {

class PageStock {
 public:
  static constexpr uint32_t kMost = 32;

  // Null if there is none.
  Span* take() {
    if (count() == 0) return nullptr;
    LockGuard guard(lock_);
    Span* const span = pages_.pop_front();
    if (span == nullptr) return nullptr;
    store_shared(count_, count_ - 1);
    is_used_ = true;
    // As the span store says it of a page that was used.
    const bool was_written = span->written.value != 0;
    span->backed = span->backed || was_written;
    span->zeroed = span->zeroed && !was_written;
    return span;
  }
  // Takes pages out of the batch until it has `most`.
  void put(SpanBatch& batch, size_t most) {
    LockGuard guard(lock_);
    SpanBatch others;
    while (Span* const span = batch.pop_front()) {
      const bool fits = count_ < most && span->pages.value == 1;
      (fits ? pages_ : others).push_front(span);
      if (fits) store_shared(count_, count_ + 1);
    }
    while (Span* const span = others.pop_front()) batch.push_front(span);
  }
  // Moves all to the batch; `if_still`: unless a page was taken since it was asked so before.
  void empty(SpanBatch& batch, bool if_still) {
    LockGuard guard(lock_);
    if (exchange(is_used_, false) && if_still) return;
    while (Span* const span = pages_.pop_front()) batch.push_front(span);
    store_shared(count_, 0u);
  }
  // Racy, but for the thread itself.
  uint32_t count() const { return load_shared(count_); }

  Lock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

  // Null, or the broken part of the invariant.
  const char* check() {
    LockGuard guard(lock_);
    uint32_t pages = 0;
    for (const Span* span = pages_.front(); span != nullptr; span = SpanBatch::next(span)) {
      if (span->pages.value != 1) return "page stock: a span is of several pages";
      ++pages;
    }
    return pages == count_ && count_ <= kMost ? nullptr : "page stock: the count of pages is wrong";
  }

 private:
  Lock lock_;
  uint32_t count_ = 0;  // changed under the lock
  bool is_used_ SNUG_GUARDED_BY(lock_) = false;
  SpanBatch pages_ SNUG_GUARDED_BY(lock_);
};

}  // namespace snug
