// Heaps that several threads use, each called as directly as the others. Threads have numbers from 0; a block is known
// by its name and its owner, the thread that allocated it:
//
//   allocate(thread, bytes)   a name, 0 if there is no memory
//   free(owner, name)         by any thread, unless each thread has a heap that takes no turns
//   Look(heaps, thread, owner)  while it lives, the owner's blocks stay where they are
//   address(owner, name)      inside of a Look
//   stats()                   of all heaps together
//
// The threads have one heap, or one each.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include <sys/mman.h>

#include "cells_in_pool.h"
#include "rlsf.h"
#include "snug/compact_heap_c.h"
#include "workload.h"

namespace seeds {

using BlockName = uint64_t;

// What the programs want to know of compacting heaps; 0 of others.
struct HeapCounts {
  uint64_t waits_heap = 0;
  uint64_t waits_classes = 0;
  uint64_t waits_handles = 0;
  uint64_t waits_pages = 0;
  uint64_t moves = 0;
  uint64_t moves_in_flight = 0;
  uint64_t not_full = 0;       // bytes that are free in pages that are not full
  uint64_t bound = 0;          // of them
  uint64_t rows_not_full = 0;  // of pages
};

class CompactHeaps {
 public:
  CompactHeaps(unsigned threads, const snug_compact_options& options, bool one_each)
      : is_shared_(options.sharing != SNUG_COMPACT_ONE_THREAD), threads_(threads) {
    for (unsigned i = 0; i < (one_each ? threads : 1); ++i) {
      heaps_.push_back(snug_compact_create(&options));
      if (heaps_.back() == nullptr) workload::fail("no compacting heap");
      for (unsigned thread = 0; is_shared_ && thread < threads; ++thread) {
        readers_.push_back(snug_compact_reader_create(heaps_.back()));
        if (readers_.back() == nullptr) workload::fail("no reader of a compacting heap");
      }
    }
  }
  ~CompactHeaps() {
    for (snug_compact_heap* heap : heaps_) snug_compact_destroy(heap);  // and its readers
  }
  CompactHeaps(const CompactHeaps&) = delete;
  CompactHeaps& operator=(const CompactHeaps&) = delete;

  class Look {
   public:
    Look(CompactHeaps& heaps, unsigned thread, unsigned owner)
        : heap_(heaps.heap(owner)), reader_(heaps.reader(thread, owner)) {
      if (reader_ != nullptr) snug_compact_enter(heap_, reader_);
    }
    ~Look() {
      if (reader_ != nullptr) snug_compact_leave(heap_, reader_);
    }
    Look(const Look&) = delete;
    Look& operator=(const Look&) = delete;

   private:
    snug_compact_heap* const heap_;
    snug_compact_reader* const reader_;
  };

  BlockName allocate(unsigned thread, size_t bytes) { return snug_compact_alloc(heap(thread), bytes, 0); }
  void free(unsigned owner, BlockName name) { snug_compact_free(heap(owner), name); }
  void* address(unsigned owner, BlockName name) { return snug_compact_deref(heap(owner), name); }

  HeapCounts stats() const {
    HeapCounts all;
    for (const snug_compact_heap* heap : heaps_) {
      snug_compact_stats now{};
      snug_compact_get_stats(heap, &now);
      all.waits_heap += now.waits_heap;
      all.waits_classes += now.waits_classes;
      all.waits_handles += now.waits_handles;
      all.waits_pages += now.waits_pages;
      all.moves += now.moves;
      all.moves_in_flight += now.moves_in_flight;
      all.not_full += now.bytes_not_full;
      all.bound += now.bytes_bound;
      all.rows_not_full += now.rows_not_full;
    }
    return all;
  }
  // Ends the program if a heap is damaged.
  void check() const {
    for (const snug_compact_heap* heap : heaps_)
      if (const char* const broken = snug_compact_check(heap)) workload::fail(broken);
  }

 private:
  size_t index(unsigned owner) const { return heaps_.size() == 1 ? 0 : owner; }
  snug_compact_heap* heap(unsigned owner) const { return heaps_[index(owner)]; }
  snug_compact_reader* reader(unsigned thread, unsigned owner) const {
    return is_shared_ ? readers_[index(owner) * threads_ + thread] : nullptr;
  }

  const bool is_shared_;
  const unsigned threads_;
  std::vector<snug_compact_heap*> heaps_;
  std::vector<snug_compact_reader*> readers_;  // threads_ of each heap
};

// What heaps with fixed blocks have.
template <class Heaps>
struct NothingMoves {
  struct Look {
    Look(Heaps&, unsigned, unsigned) {}
  };
  static void* address(unsigned, BlockName name) { return reinterpret_cast<void*>(name); }
  static HeapCounts stats() { return {}; }
};

// TLSF in a pool, CellsInPool or Rlsf, behind one mutex, or one without any for each thread.
template <class Tlsf>
class PoolHeaps : public NothingMoves<PoolHeaps<Tlsf>> {
 public:
  PoolHeaps(unsigned threads, bool one_each) : is_shared_(!one_each) {
    for (unsigned i = 0; i < (one_each ? threads : 1); ++i)
      heaps_.push_back(std::make_unique<Locked>(kBytesOfThread * (one_each ? 1 : threads)));
  }

  BlockName allocate(unsigned thread, size_t bytes) {
    Locked& heap = *heaps_[is_shared_ ? 0 : thread];
    const auto turn = turn_of(heap);
    return reinterpret_cast<BlockName>(heap.tlsf.allocate(bytes));
  }
  void free(unsigned owner, BlockName name) {
    Locked& heap = *heaps_[is_shared_ ? 0 : owner];
    const auto turn = turn_of(heap);
    heap.tlsf.deallocate(reinterpret_cast<void*>(name));
  }
  static void check() {}

 private:
  static constexpr size_t kBytesOfThread = size_t{64} << 20;
  struct alignas(64) Locked {
    std::mutex turn;
    Tlsf tlsf;
    explicit Locked(size_t bytes) : tlsf(map_pool(bytes), bytes) {
      if (!tlsf.is_open()) workload::fail("the pool is no memory for a heap");
    }
  };
  static void* map_pool(size_t bytes) {
    void* const pool = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pool == MAP_FAILED) workload::fail("no address space for a pool");
    return pool;
  }
  std::unique_lock<std::mutex> turn_of(Locked& heap) const {
    return is_shared_ ? std::unique_lock(heap.turn) : std::unique_lock<std::mutex>();
  }

  const bool is_shared_;
  std::vector<std::unique_ptr<Locked>> heaps_;
};

// Whatever malloc the process has: preload one.
class MallocHeaps : public NothingMoves<MallocHeaps> {
 public:
  static BlockName allocate(unsigned, size_t bytes) { return reinterpret_cast<BlockName>(std::malloc(bytes)); }
  static void free(unsigned, BlockName name) { std::free(reinterpret_cast<void*>(name)); }
  static void check() {}
};

}  // namespace seeds
