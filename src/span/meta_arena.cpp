#include "span/meta_arena.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/in_place.h"
#include "os/memory.h"

namespace snug {
namespace {
constexpr size_t kMapping = size_t{1} << 20;
constexpr size_t kSmallestMapping = kMapping / 16;  // what a narrow address space may still have
constexpr size_t kRecordAlignment = 64;
// Below so many bytes more is mapped: as much as many threads take between two slow operations.
constexpr size_t kLittle = kMapping / 2;
}  // namespace

void* MetaArena::allocate(size_t bytes) {
  bytes = round_up(bytes, kRecordAlignment);
  do {
    LockGuard guard(lock_);
    bool was_low = current_.left() < kLittle;
    if (current_.left() < bytes && reserve_.left() >= kLinkBytes + bytes) {
      use(exchange(reserve_, {}));
      was_low = false;
    }
    if (current_.left() >= bytes) {
      void* record = at<void>(current_.cursor);
      current_.cursor += bytes;
      (current_.is_adopted ? used_of_pages_ : used_).fetch_add(bytes, kRelaxed);
      if (!was_low && current_.left() < kLittle) is_low_.store(true, kRelaxed);
      return record;
    }
  } while (stock_late(kLinkBytes + bytes));
  return nullptr;
}

bool MetaArena::wants_page() {
  {
    LockGuard guard(lock_);
    if (!is_short()) return false;
  }
  return !stock(kLinkBytes + kRecordAlignment);
}

bool MetaArena::is_short() const {
  constexpr size_t kOfAPage = kPageSize - kLinkBytes;
  return !is_guarded_ && current_.left() < kOfAPage && reserve_.left() < kOfAPage;
}

bool MetaArena::adopt_page(void* page) {
  LockGuard guard(lock_);
  if (!is_short()) return false;
  memset(page, 0, kPageSize);
  reserve_ = {address_of(page), address_of(page) + kPageSize, true};
  return true;
}

// The rest of the last mapping is forgotten: less than one record, and untouched.
void MetaArena::use(Mapping mapping) {
  newest_.store(::new (InPlace{at<void>(mapping.cursor)}) Link{newest_.load(kRelaxed), mapping.end}, kRelease);
  current_ = {mapping.cursor + kLinkBytes, mapping.end, mapping.is_adopted};
}

// The last resort, where no thread has stocked ahead or the OS has refused: the caller may hold locks.
bool MetaArena::stock_late(size_t bytes) {
  SharedHolds::begin_exemption();
  const bool stocked = stock(bytes);
  SharedHolds::end_exemption();
  return stocked;
}

void* MetaArena::map(size_t bytes) const {
  if (!is_guarded_) return os::map(bytes, 1);
  const size_t guard = os::page_size();
  bytes = round_up(bytes, guard);
  void* start = os::reserve(nullptr, bytes + 2 * guard);
  if (start == nullptr) return nullptr;
  void* inside = static_cast<char*>(start) + guard;
  if (os::commit(inside, bytes)) return inside;
  os::release(start, bytes + 2 * guard);
  return nullptr;
}

void MetaArena::release(void* start, size_t bytes) const {
  const size_t guard = is_guarded_ ? os::page_size() : 0;
  os::release(static_cast<char*>(start) - guard, round_up(bytes, os::page_size()) + 2 * guard);
}

// Puts a mapping for a record of so many bytes in reserve, unless another thread has. False if the OS refuses.
bool MetaArena::stock(size_t bytes) {
  void* fresh = nullptr;
  size_t size = round_up(bytes, kMapping);
  for (; fresh == nullptr && size >= kSmallestMapping && size >= bytes; size /= 4) fresh = map(size);
  if (fresh == nullptr) return false;
  size *= 4;
  {
    LockGuard guard(lock_);
    is_low_.store(false, kRelaxed);
    if (reserve_.left() < bytes) {
      reserve_ = {address_of(fresh), address_of(fresh) + size};
      mapped_.fetch_add(size, kRelaxed);
      return true;
    }
  }
  release(fresh, size);
  return true;
}

void MetaArena::stock_ahead() {
  // After a refusal the OS is not asked again before a record needs it.
  if (!stock(kLinkBytes + kRecordAlignment)) is_low_.store(false, kRelaxed);
}

}  // namespace snug
