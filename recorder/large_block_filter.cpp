#include "recorder/large_block_filter.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace snug::recorder {

constinit LargeBlockFilter large_block_filter;

namespace {

// Set by the first refusal: where a policy forbids the file, each attempt may be a line in the administrator's log.
constinit std::atomic<bool> is_refused = false;

// 0 if the block is not to be looked at.
std::size_t large_size_of(void* block) {
  if (this_thread.depth != 0 || !watched.has_usable_size) return 0;
  const InsideAllocator inside;
  const std::size_t size = watched.usable_size(block);
  return size >= kLeastLookedAt ? size : 0;
}

// Records 64 pages in each slot; no slot for pages that were never touched. `address` lies in the first page.
void tell_words(std::uint64_t address, const std::uint64_t* words, std::size_t count, bool has_forked) {
  for (std::size_t from = 0; from < count; from += 64) {
    std::uint64_t touched = 0;
    for (std::size_t page = from; page < std::min(from + 64, count); ++page)
      touched |= std::uint64_t{is_touched(words[page], has_forked)} << (page - from);
    if (touched != 0) tell(kTouchedPages, address + from * kPageBytes, touched);
  }
}

// Not mincore(), for which some filters of system calls end the process though they allow files (docs/decisions/0025).
// Not /proc/self, which names no thread once the first thread has ended.
void tell_pages(std::uint64_t address, std::size_t size, bool has_forked) {
  const std::uint64_t end = (address + size - 1) / kPageBytes + 1;
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC));
  if (file < 0) {
    if (errno == EACCES || errno == EPERM || errno == ENOENT) is_refused.store(true, std::memory_order_relaxed);
    return;
  }
  std::uint64_t words[256];
  syscall(SYS_lseek, file, static_cast<long>(address / kPageBytes * sizeof *words), SEEK_SET);
  while (address / kPageBytes < end) {
    const std::uint64_t wanted = std::min<std::uint64_t>(end - address / kPageBytes, sizeof words / sizeof *words);
    const long got = syscall(SYS_read, file, words, wanted * sizeof *words);
    const std::size_t pages = got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof *words;
    if (pages == 0) break;
    tell_words(address, words, pages, has_forked);
    address += pages * kPageBytes;
  }
  syscall(SYS_close, file);
}

}  // namespace

void note_large(const void* block) {
  if (large_size_of(const_cast<void*>(block)) != 0) large_block_filter.add(block);
}

void tell_touched_pages(void* block) {
  const std::size_t size = block != nullptr ? large_size_of(block) : 0;
  if (size == 0) return;
  large_block_filter.remove(block);
  const Ring* const ring = ring_for_event();
  if (is_refused.load(std::memory_order_relaxed) || ring == nullptr) return;
  const ErrnoKeeper keeper;
  tell_pages(reinterpret_cast<std::uintptr_t>(block), size, ring->has_forked.load(std::memory_order_relaxed));
}

}  // namespace snug::recorder
