#include "span/meta_arena.h"

#include "base/bits.h"
#include "os/memory.h"

namespace snug {
namespace {
constexpr size_t kMapping = size_t{1} << 20;
constexpr size_t kSmallestMapping = size_t{64} << 10;  // what a narrow address space may still have
constexpr size_t kAlignment = 64;
}  // namespace

void* MetaArena::allocate(size_t bytes) {
  bytes = round_up(bytes, kAlignment);
  LockGuard guard(lock_);
  if (end_ - cursor_ < bytes) {
    void* fresh = nullptr;
    size_t size = round_up(bytes, kMapping);
    for (; fresh == nullptr && size >= kSmallestMapping && size >= bytes; size /= 4) fresh = os::map(size, 1);
    if (fresh == nullptr) return nullptr;
    size *= 4;
    // The rest of the last mapping is forgotten: less than one record, and untouched.
    cursor_ = address_of(fresh);
    end_ = cursor_ + size;
    mapped_.fetch_add(size, std::memory_order_relaxed);
  }
  void* record = at<void>(cursor_);
  cursor_ += bytes;
  used_.fetch_add(bytes, std::memory_order_relaxed);
  return record;
}

}  // namespace snug
