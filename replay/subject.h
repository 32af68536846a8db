// Subject: the allocator under test, function by function, as the program's symbols are bound. A function that the
// allocator does not have is never taken from libc's: it is replaced by one that the allocator has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "replay/stage.h"
#include "trace/mallinfo2.h"
#include "trace/operation.h"

struct snug_stats;

namespace snug::replayer {

class Subject {
 public:
  // To be called once, before there are other threads.
  void find();
  // Called before there are other threads.
  static void expect_threads() {}

  // An allocation of any kind but reallocations. Null if it fails.
  void* allocate(trace::Operation operation, std::size_t size, std::size_t alignment) const;
  // `size_before` is the block's requested size, or 0: allocators know it themselves.
  void* reallocate(trace::Operation operation, void* block, std::size_t size_before, std::size_t size) const;
  void free(trace::Operation operation, void* block, std::size_t size, std::size_t alignment) const;
  std::size_t usable_size(void* block) const;
  void trim(std::size_t kept) const;
  // Writes `count` bytes of the block, from `from` on.
  static void write(void* block, std::size_t from, std::size_t count) {
    std::memset(static_cast<std::byte*>(block) + from, 1, count);
  }
  // False if it has none.
  bool read_mallinfo(std::uint64_t (&fields)[10]) const;
  // False if it is not snug.
  bool read_snug(SnugMemory& memory) const;

 private:
  void* allocate_aligned(std::size_t size, std::size_t alignment) const;
  // Allocates the next multiple of the alignment, a power of two. Null if that overflows.
  void* allocate_rounded(std::size_t size, std::size_t alignment) const;
  void* allocate_by_operator(trace::Operation operation, std::size_t size, std::size_t alignment) const;
  void free_by_operator(trace::Operation operation, void* block, std::size_t size, std::size_t alignment) const;

  // Null where the allocator has none.
  void* (*reallocarray_)(void*, std::size_t, std::size_t) = nullptr;
  void* (*aligned_alloc_)(std::size_t, std::size_t) = nullptr;
  void* (*memalign_)(std::size_t, std::size_t) = nullptr;
  int (*posix_memalign_)(void**, std::size_t, std::size_t) = nullptr;
  void* (*valloc_)(std::size_t) = nullptr;
  void* (*pvalloc_)(std::size_t) = nullptr;
  void (*free_sized_)(void*, std::size_t) = nullptr;
  void (*free_aligned_sized_)(void*, std::size_t, std::size_t) = nullptr;
  std::size_t (*usable_size_)(void*) = nullptr;
  int (*trim_)(std::size_t) = nullptr;
  trace::Mallinfo2 (*mallinfo2_)() = nullptr;
  int (*snug_get_stats_)(snug_stats*) = nullptr;
  bool has_operators_ = false;
};

}  // namespace snug::replayer
