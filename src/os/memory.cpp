#include "os/memory.h"

#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/optional.h"
#include "base/probe.h"
#include "base/system_call.h"

// Headers of an older glibc have not got it.
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
// Linux 5.14 has it; musl's headers do not.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace snug::os {
namespace {

Atomic<size_t> known_page_size{0};

// Addresses are never negative as a long; errors are.
void* address_or_null(long answer) { return answer < 0 ? nullptr : at<void>(static_cast<uintptr_t>(answer)); }

// The OS accounts for memory that will be used, so that an absurd request fails as it should: not for what cannot be
// written to yet, nor where `flags` has MAP_NORESERVE.
void* map_pages(void* hint, size_t bytes, int protection, int flags = 0) {
  if (protection != (PROT_READ | PROT_WRITE)) flags |= MAP_NORESERVE;
  constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS;
  return address_or_null(system_call(SYS_mmap, hint, bytes, protection, kKind | flags, -1, 0));
}

bool advise(void* start, size_t bytes, int advice) { return system_call(SYS_madvise, start, bytes, advice) == 0; }

// A page that answers_for_addresses() has; null while a thread asks, or if it did not come again.
Atomic<void*> asked_about{nullptr};

// What purged memory holds afterwards. Some emulators (qemu-user before 7.1) and filters report success and do nothing,
// and calloc would then hand out old contents.
enum class Purged : uint8_t { kUntried, kZeros, kWhatWasThere };
Atomic<Purged> purged{Purged::kUntried};
Atomic<uint64_t> unmapped{0};

// Counts a system call that unmaps, before and behind it: what another thread has found readable in between is not
// trusted once both are counted.
class Unmapping {
 public:
  Unmapping() { unmapped.fetch_add(1, kRelaxed); }
  ~Unmapping() { unmapped.fetch_add(1, kRelaxed); }
  Unmapping(const Unmapping&) = delete;
  Unmapping& operator=(const Unmapping&) = delete;
};

// Purges, and learns what purged memory holds: it writes a word that is not 0 first. That word may be a free slot of a
// table of handles, which other threads may read meanwhile (compact/handle_table.h).
SNUG_COLD bool try_purge(void* start, size_t bytes) {
  constexpr uint64_t kMark = 1;
  AtomicRef<uint64_t> word(*static_cast<uint64_t*>(start));
  const uint64_t had = word.exchange(kMark, kRelaxed);
  const bool is_taken = advise(start, bytes, MADV_DONTNEED);
  const bool is_zero = word.load(kRelaxed) == 0;
  if (!is_zero) word.store(had, kRelaxed);
  if (is_taken) purged.store(is_zero ? Purged::kZeros : Purged::kWhatWasThere, kRelaxed);
  return is_taken && is_zero;
}

}  // namespace

void set_page_size(size_t bytes) { known_page_size.store(bytes, kRelaxed); }

size_t page_size() {
  const size_t known = known_page_size.load(kRelaxed);
  if (known != 0) [[likely]]
    return known;
  set_page_size(::getauxval(AT_PAGESZ));
  return known_page_size.load(kRelaxed);
}

void* reserve(void* hint, size_t bytes) { return map_pages(hint, bytes, PROT_NONE); }

bool commit(void* start, size_t bytes) { return system_call(SYS_mprotect, start, bytes, PROT_READ | PROT_WRITE) == 0; }

// The place is a hint: filters of system calls, Chromium's among them, end a process for MAP_FIXED_NOREPLACE.
bool map_at(void* place, size_t bytes) {
  void* const start = map_pages(place, bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);
  if (start == place) return true;
  if (start != nullptr) release(start, bytes);
  return false;
}

void* map_shared(long file, size_t bytes) {
  return address_or_null(system_call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
}

void* map_read_only(size_t bytes) { return map_pages(nullptr, bytes, PROT_READ); }

void* map_wiped_in_children() {
  const size_t bytes = page_size();
  void* const page = map_pages(nullptr, bytes, PROT_READ | PROT_WRITE);
  if (page == nullptr || advise(page, bytes, MADV_WIPEONFORK)) return page;
  release(page, bytes);
  return nullptr;
}

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
  SNUG_PROBE_2("purge", address_of(start), bytes);
  const Purged known = purged.load(kRelaxed);
  if (known == Purged::kZeros) [[likely]]
    return advise(start, bytes, MADV_DONTNEED);
  return known == Purged::kUntried && bytes != 0 && try_purge(start, bytes);
}

void withdraw(void* start, size_t bytes) {
  const Unmapping unmapping;
  system_call(SYS_mprotect, start, bytes, PROT_NONE);
  advise(start, bytes, MADV_DONTNEED);
}

bool answers_for_addresses() {
  void* page = asked_about.exchange(nullptr);
  if (page != nullptr && !release(page, page_size())) {
    asked_about.store(page);
    return false;
  }
  page = map_pages(page, page_size(), PROT_READ | PROT_WRITE);
  // Another thread may have asked meanwhile, and have one: where that came again, this thread's would.
  if (page == nullptr) return asked_about.load(kRelaxed) != nullptr;
  void* none = nullptr;
  if (!asked_about.compare_exchange_strong(none, page, kRelaxed)) release(page, page_size());
  return true;
}

bool release(void* start, size_t bytes) {
  const Unmapping unmapping;
  return system_call(SYS_munmap, start, bytes) == 0;
}

uint64_t unmappings() { return unmapped.load(kRelaxed); }

void* grow(void* start, size_t bytes, size_t more_bytes) {
  const Unmapping unmapping;
  return address_or_null(system_call(SYS_mremap, start, bytes, more_bytes, MREMAP_MAYMOVE));
}

bool lengthen(void* start, size_t bytes, size_t more_bytes) {
  return system_call(SYS_mremap, start, bytes, more_bytes, 0) >= 0;
}

bool move(void* start, size_t bytes, void* place) {
  const Unmapping unmapping;
  return system_call(SYS_mremap, start, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) >= 0;
}

bool prefer_huge_pages(void* start, size_t bytes) { return advise(start, bytes, MADV_HUGEPAGE); }

void prefer_small_pages(void* start, size_t bytes) { advise(start, bytes, MADV_NOHUGEPAGE); }

bool back(void* start, size_t bytes) { return advise(start, bytes, MADV_POPULATE_WRITE); }

size_t total_memory() {
  struct sysinfo info{};
  return system_call(SYS_sysinfo, &info) == 0 ? size_t{info.totalram} * info.mem_unit : 0;
}

size_t total_memory_and_swap() {
  struct sysinfo info{};
  return system_call(SYS_sysinfo, &info) == 0 ? (size_t{info.totalram} + info.totalswap) * info.mem_unit : SIZE_MAX;
}

}  // namespace snug::os
