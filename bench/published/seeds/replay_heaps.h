// The heaps on which a trace is replayed, each called as directly as the others. A heap of these has
//
//   allocate(slot, bytes)  what is timed: true, or false if there is no memory
//   free(slot)             what is timed
//   address(slot)          where the slot's block lies now
//   memory()               not timed: what the heap takes now, in bytes
//
// What counts as a heap's memory:
//
//   compacting   pages * 16 KiB + spare pages + the table of handles + the records of pages, from its statistics
//   TLSF, rlsf   one pool, the smallest (within 0.5%) in which the whole trace is served; TLSF gives nothing back
//   cells, paged pages of 64 KiB or more that it has taken from the OS; empty ones above 64 KiB go back
//   malloc       growth of what is resident (VmRSS, VmHWM), with each OS page of each block written
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cells_in_pool.h"
#include "proc_field.h"
#include "replay_trace.h"
#include "rlsf.h"
#include "seed_command.h"
#include "snug/compact_heap_c.h"

namespace seeds {

// Bytes. What a heap does not know is 0.
struct HeapMemory {
  uint64_t total = 0;
  uint64_t not_full = 0;  // free blocks in pages that are not full: size-class fragmentation
  uint64_t blocks = 0;    // live ones, as large as their classes make them
  uint64_t tails = 0;     // at the ends of pages
  uint64_t spare = 0;     // in empty pages
  uint64_t handles = 0;
  uint64_t records = 0;
  uint64_t moves = 0;
};

// Touched, zeroed memory that comes from the OS: no heap under test has it.
template <typename T>
class SlotTable {
 public:
  explicit SlotTable(size_t slots) : bytes_(slots * sizeof(T)) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) fail("no memory for the table of slots");
    data_ = static_cast<T*>(memory);
  }
  ~SlotTable() { munmap(data_, bytes_); }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;
  T& operator[](size_t slot) const { return data_[slot]; }

 private:
  T* data_;
  size_t bytes_;
};

constexpr uint64_t kCompactPage = 16 << 10;

inline snug_compact_heap* create_compact(const snug_compact_options& options) {
  snug_compact_heap* const heap = snug_compact_create(&options);
  if (heap == nullptr) fail(std::string("no compacting heap: ") + std::strerror(errno));
  return heap;
}

inline HeapMemory memory_of(const snug_compact_heap* heap) {
  snug_compact_stats now{};
  snug_compact_get_stats(heap, &now);
  return {.total = now.pages * kCompactPage + now.bytes_spare + now.bytes_handles + now.bytes_records,
          .not_full = now.bytes_not_full,
          .blocks = now.bytes_blocks,
          .tails = now.bytes_tails,
          .spare = now.bytes_spare,
          .handles = now.bytes_handles,
          .records = now.bytes_records,
          .moves = now.moves};
}

class OnHandles {
 public:
  OnHandles(const ReplayTrace& trace, const snug_compact_options& options)
      : table_(trace.slots()), heap_(create_compact(options)) {}
  ~OnHandles() { snug_compact_destroy(heap_); }
  OnHandles(const OnHandles&) = delete;
  OnHandles& operator=(const OnHandles&) = delete;

  bool allocate(size_t slot, size_t bytes) { return (table_[slot] = snug_compact_alloc(heap_, bytes, 0)) != 0; }
  void free(size_t slot) { snug_compact_free(heap_, table_[slot]); }
  void* address(size_t slot) const { return snug_compact_deref(heap_, table_[slot]); }
  HeapMemory memory() const { return memory_of(heap_); }
  const char* check() const { return snug_compact_check(heap_); }

 private:
  SlotTable<snug_handle> table_;
  snug_compact_heap* heap_;
};

class OnDirect {
 public:
  OnDirect(const ReplayTrace& trace, const snug_compact_options& options)
      : table_(trace.slots()), heap_(create_compact(options)) {}
  ~OnDirect() { snug_compact_destroy(heap_); }
  OnDirect(const OnDirect&) = delete;
  OnDirect& operator=(const OnDirect&) = delete;

  bool allocate(size_t slot, size_t bytes) {
    return (table_[slot] = snug_compact_direct_alloc(heap_, bytes, 0)) != nullptr;
  }
  void free(size_t slot) { snug_compact_direct_free(heap_, table_[slot]); }
  void* address(size_t slot) const { return table_[slot]; }
  HeapMemory memory() const { return memory_of(heap_); }
  const char* check() const { return snug_compact_check(heap_); }

 private:
  SlotTable<void*> table_;
  snug_compact_heap* heap_;
};

// From the OS, so that only what is touched is memory.
inline void* map_memory(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// TLSF in one pool: CellsInPool or Rlsf.
template <class Tlsf>
class OnPool {
 public:
  OnPool(const ReplayTrace& trace, uint64_t pool)
      : table_(trace.slots()), start_(map_pool(pool)), pool_(pool), heap_(start_, pool) {
    if (!heap_.is_open()) fail("the pool is no memory for a heap");
  }
  ~OnPool() { munmap(start_, pool_); }
  OnPool(const OnPool&) = delete;
  OnPool& operator=(const OnPool&) = delete;

  bool allocate(size_t slot, size_t bytes) { return (table_[slot] = heap_.allocate(bytes)) != nullptr; }
  void free(size_t slot) { heap_.deallocate(table_[slot]); }
  void* address(size_t slot) const { return table_[slot]; }
  HeapMemory memory() const { return {.total = pool_}; }
  const char* check() const { return heap_.check(); }

 private:
  static void* map_pool(uint64_t bytes) {
    void* const memory = map_memory(bytes);
    if (memory == nullptr) fail("no address space for a pool");
    return memory;
  }

  SlotTable<void*> table_;
  void* start_;
  uint64_t pool_;
  Tlsf heap_;
};

struct CountedPages {
  static constexpr size_t kPageBytes = size_t{64} << 10;
  static inline uint64_t bytes = 0;  // a process has one heap
  static void* take(size_t count) {
    void* const page = map_memory(count);
    if (page != nullptr) bytes += count;
    return page;
  }
  static void give(void* page, size_t count) {
    munmap(page, count);
    bytes -= count;
  }
};

class OnPagedCells {
  struct Policy : snug::CellPolicy {
    using Pages = CountedPages;
    using Retention = snug::RetentionThreshold;
  };

 public:
  explicit OnPagedCells(const ReplayTrace& trace) : table_(trace.slots()) {}

  bool allocate(size_t slot, size_t bytes) { return (table_[slot] = heap_.allocate(bytes)) != nullptr; }
  void free(size_t slot) { heap_.deallocate(table_[slot]); }
  void* address(size_t slot) const { return table_[slot]; }
  static HeapMemory memory() { return {.total = CountedPages::bytes}; }
  const char* check() const { return heap_.check(); }

 private:
  SlotTable<void*> table_;
  snug::CellHeap<Policy> heap_;
};

// What has become resident in this process since then.
class ResidentGrowth {
 public:
  ResidentGrowth() : base_(resident("VmRSS:")) {
    const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "5", 1) != 1) fail("cannot reset VmHWM in /proc/self/clear_refs");
    close(file);
  }
  uint64_t now() const { return above(resident("VmRSS:")); }
  uint64_t peak() const { return above(resident("VmHWM:")); }

 private:
  uint64_t above(uint64_t bytes) const { return bytes > base_ ? bytes - base_ : 0; }

  // A field of /proc/self/status, in bytes.
  static uint64_t resident(const char* field) {
    const std::optional<size_t> kib = workload::proc_field_kib("/proc/self/status", field);
    if (!kib) fail(std::string("no ") + field + " in /proc/self/status");
    return uint64_t{*kib} << 10;
  }

  uint64_t base_;
};

// Whatever malloc the process has: preload one.
class OnMalloc {
 public:
  explicit OnMalloc(const ReplayTrace& trace) : table_(trace.slots()) {}

  bool allocate(size_t slot, size_t bytes) { return (table_[slot] = std::malloc(bytes)) != nullptr || bytes == 0; }
  void free(size_t slot) { std::free(table_[slot]); }
  void* address(size_t slot) const { return table_[slot]; }
  // Too slow to be asked for each block; the kernel keeps the peak.
  HeapMemory memory() const { return {.total = growth_.now()}; }
  HeapMemory peak() const { return {.total = growth_.peak()}; }
  static const char* check() { return nullptr; }

 private:
  SlotTable<void*> table_;
  ResidentGrowth growth_;
};

}  // namespace seeds
