// A compacting heap of the test's own, which is sound whenever the test looks.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "snug/compact_heap_c.h"

namespace snug {

// The options, each with a default, so that a test names those that it means.
struct CompactOptions {
  size_t not_full = 0;
  size_t increment = 0;
  snug_compact_map map = SNUG_COMPACT_FINE;
  int direct = 0;
  void* region = nullptr;
  size_t region_bytes = 0;
  size_t handles = 0;
  snug_compact_sharing sharing = SNUG_COMPACT_ONE_THREAD;

  snug_compact_heap* create() const {
    const snug_compact_options options{not_full, increment, map, direct, region, region_bytes, handles, sharing};
    return snug_compact_create(&options);
  }
};

class CompactHeapFixture {
 public:
  explicit CompactHeapFixture(CompactOptions options = {}, size_t region_bytes = 0) {
    if (region_bytes != 0) {
      region_.resize(region_bytes);
      options.region = region_.data();
      options.region_bytes = region_bytes;
    }
    heap_ = options.create();
    EXPECT_NE(heap_, nullptr);
  }
  ~CompactHeapFixture() {
    expect_sound();
    snug_compact_destroy(heap_);
  }
  CompactHeapFixture(const CompactHeapFixture&) = delete;
  CompactHeapFixture& operator=(const CompactHeapFixture&) = delete;

  operator snug_compact_heap*() const { return heap_; }  // NOLINT: it is one, to its functions

  // So many blocks, each of which holds its number.
  std::vector<snug_handle> fill(size_t count, size_t bytes) {
    std::vector<snug_handle> handles;
    for (size_t i = 0; i < count; ++i) {
      handles.push_back(snug_compact_alloc(heap_, bytes, 0));
      EXPECT_NE(handles.back(), 0u);
      *static_cast<size_t*>(snug_compact_deref(heap_, handles.back())) = i;
    }
    return handles;
  }
  size_t number_of(snug_handle handle) { return *static_cast<size_t*>(snug_compact_deref(heap_, handle)); }

  snug_compact_stats stats() const {
    snug_compact_stats stats;
    snug_compact_get_stats(heap_, &stats);
    return stats;
  }
  void expect_sound() const {
    const char* const broken = snug_compact_check(heap_);
    EXPECT_EQ(broken, nullptr) << broken;
  }

 private:
  std::vector<char> region_;
  snug_compact_heap* heap_ = nullptr;
};

// A reader of a heap that several threads have.
class SectionReader {
 public:
  explicit SectionReader(snug_compact_heap* heap) : heap_(heap), reader_(snug_compact_reader_create(heap)) {
    EXPECT_NE(reader_, nullptr);
  }
  ~SectionReader() { snug_compact_reader_destroy(heap_, reader_); }
  SectionReader(const SectionReader&) = delete;
  SectionReader& operator=(const SectionReader&) = delete;

  void enter() { snug_compact_enter(heap_, reader_); }
  void leave() { snug_compact_leave(heap_, reader_); }
  snug_compact_reader* get() const { return reader_; }

 private:
  snug_compact_heap* heap_;
  snug_compact_reader* reader_;
};

// If wanted, the thread and those that it starts run on one core meanwhile, so that heaps of cores are one heap.
class OnOneCore {
 public:
  explicit OnOneCore(bool wanted) {
    EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    if (!wanted) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~OnOneCore() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

 private:
  cpu_set_t before_;
};

// The ways in which several threads share a heap, and their names in tests.
inline auto shared_heaps() {
  return testing::Values(SNUG_COMPACT_ONE_LOCK, SNUG_COMPACT_CLASS_LOCKS, SNUG_COMPACT_CORES);
}
inline std::string name_of_sharing(const testing::TestParamInfo<snug_compact_sharing>& info) {
  constexpr const char* kNames[] = {"OneThread", "OneLock", "ClassLocks", "Cores"};
  return kNames[info.param];
}

// Which of them is on its way.
inline size_t moving_one(snug_compact_heap* heap, const std::vector<snug_handle>& handles) {
  snug_compact_view view;
  snug_compact_get_view(heap, &view);
  const auto is_moving = [&](snug_handle handle) {
    return handle != 0 && (view.slots[static_cast<uint32_t>(handle)] ^ handle) >> 48 == uint64_t{1} << 15;
  };
  return static_cast<size_t>(std::find_if(handles.begin(), handles.end(), is_moving) - handles.begin());
}

}  // namespace snug
