#include "os/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "base/bits.h"
#include "base/errno_keeper.h"

namespace snug::os {
namespace {

void* map_pages(void* hint, size_t bytes, int protection) {
  ErrnoKeeper keeper;
  // Memory that will be used is left to the OS to account for, so that an absurd request fails as it should.
  const int accounting = protection == (PROT_READ | PROT_WRITE) ? 0 : MAP_NORESERVE;
  void* start = ::mmap(hint, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | accounting, -1, 0);
  return start == MAP_FAILED ? nullptr : start;
}

}  // namespace

size_t page_size() {
  static std::atomic<size_t> known{0};
  size_t bytes = known.load(std::memory_order_relaxed);
  if (bytes == 0) {
    bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    known.store(bytes, std::memory_order_relaxed);
  }
  return bytes;
}

void* reserve(void* hint, size_t bytes) { return map_pages(hint, bytes, PROT_NONE); }

bool commit(void* start, size_t bytes) {
  ErrnoKeeper keeper;
  return ::mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
}

void* map_read_only(size_t bytes) { return map_pages(nullptr, bytes, PROT_READ); }

void* map(size_t bytes, size_t alignment) {
  if (alignment <= page_size()) return map_pages(nullptr, bytes, PROT_READ | PROT_WRITE);
  const size_t span = bytes + alignment - page_size();
  if (span < bytes) return nullptr;
  void* whole = map_pages(nullptr, span, PROT_READ | PROT_WRITE);
  if (whole == nullptr) return nullptr;
  const uintptr_t start = round_up(address_of(whole), alignment);
  const size_t before = start - address_of(whole);
  const size_t after = span - before - bytes;
  // A part that cannot be cut off stays mapped, untouched: address space, not memory.
  if (before != 0) release(whole, before);
  if (after != 0) release(at<void>(start + bytes), after);
  return at<void>(start);
}

bool purge(void* start, size_t bytes) {
  ErrnoKeeper keeper;
  return ::madvise(start, bytes, MADV_DONTNEED) == 0;
}

bool release(void* start, size_t bytes) {
  ErrnoKeeper keeper;
  return ::munmap(start, bytes) == 0;
}

void* grow(void* start, size_t bytes, size_t more_bytes) {
  ErrnoKeeper keeper;
  void* grown = ::mremap(start, bytes, more_bytes, MREMAP_MAYMOVE);
  return grown == MAP_FAILED ? nullptr : grown;
}

bool prefer_huge_pages(void* start, size_t bytes) {
  ErrnoKeeper keeper;
  return ::madvise(start, bytes, MADV_HUGEPAGE) == 0;
}

void prefer_small_pages(void* start, size_t bytes) {
  ErrnoKeeper keeper;
  ::madvise(start, bytes, MADV_NOHUGEPAGE);
}

bool back(void* start, size_t bytes) {
  ErrnoKeeper keeper;
  return ::madvise(start, bytes, MADV_POPULATE_WRITE) == 0;
}

}  // namespace snug::os
