// MetaArena: memory for snug's own records, out of band so that user blocks and metadata never share an OS page.
// Records are cut from mappings of 1 MiB, backed only where touched, and never given back: whoever frees a record keeps
// it in a free list of its own (RecordPool).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/lock.h"
#include "base/units.h"

namespace snug {

class alignas(kCacheLine) MetaArena {
 public:
  constexpr MetaArena() = default;

  // Zeroed memory aligned to 64 bytes, or null. Thread-safe, O(1).
  void* allocate(size_t bytes);

  size_t bytes_used() const { return used_.load(std::memory_order_relaxed); }
  size_t bytes_mapped() const { return mapped_.load(std::memory_order_relaxed); }

  Lock& lock() { return lock_; }  // for a fork

 private:
  Lock lock_;
  uintptr_t cursor_ = 0;
  uintptr_t end_ = 0;
  std::atomic<size_t> used_{0};
  std::atomic<size_t> mapped_{0};
};

// A free list of records of one type over the arena. The caller holds the lock that guards the list.
template <class T>
class RecordPool {
 public:
  explicit constexpr RecordPool(MetaArena& arena) : arena_(arena) {}

  T* make() {
    if (free_ == nullptr) {
      void* fresh = arena_.allocate(sizeof(T));
      return fresh == nullptr ? nullptr : ::new (fresh) T{};
    }
    Free* record = free_;
    free_ = record->next;
    return ::new (static_cast<void*>(record)) T{};
  }
  void recycle(T* record) {
    record->~T();
    free_ = ::new (static_cast<void*>(record)) Free{free_};
  }

 private:
  struct Free {
    Free* next;
  };
  static_assert(sizeof(T) >= sizeof(Free));

  MetaArena& arena_;
  Free* free_ = nullptr;
};

}  // namespace snug
