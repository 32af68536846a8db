// monotonic_resource.h: BasicMonotonicResource, a std::pmr::memory_resource that always hands out the next bytes of a
// buffer and frees nothing before release() (resource.h says which names to use).
//
//   buffer: used … | at_ … end_ | record      the caller's first one, if any, has no record
//
// When a buffer is used up the next one is at least half again as long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <mutex>
#include <new>

#include "snug/base/poison.h"
#include "snug/pool/lock.h"
#include "snug/pool/pool_resource.h"

namespace snug {

template <class Lock>
class BasicMonotonicResource : public std::pmr::memory_resource {
 public:
  BasicMonotonicResource() : BasicMonotonicResource(std::pmr::get_default_resource()) {}
  explicit BasicMonotonicResource(std::pmr::memory_resource* upstream)
      : BasicMonotonicResource(kDefaultBytes, upstream) {}
  explicit BasicMonotonicResource(std::size_t first_bytes)
      : BasicMonotonicResource(first_bytes, std::pmr::get_default_resource()) {}
  BasicMonotonicResource(std::size_t first_bytes, std::pmr::memory_resource* upstream)
      : upstream_(upstream), first_bytes_(std::max<std::size_t>(first_bytes, 1)), next_bytes_(first_bytes_) {}
  BasicMonotonicResource(void* buffer, std::size_t bytes)
      : BasicMonotonicResource(buffer, bytes, std::pmr::get_default_resource()) {}
  // The buffer stays the caller's, and must live as long as the resource.
  BasicMonotonicResource(void* buffer, std::size_t bytes, std::pmr::memory_resource* upstream)
      : upstream_(upstream),
        given_(static_cast<char*>(buffer)),
        given_bytes_(bytes),
        first_bytes_(bytes != 0 ? grown(bytes) : kDefaultBytes),
        next_bytes_(first_bytes_) {
    begin();
  }
  BasicMonotonicResource(const BasicMonotonicResource&) = delete;
  BasicMonotonicResource& operator=(const BasicMonotonicResource&) = delete;
  ~BasicMonotonicResource() override {
    release();
    if (given_ != nullptr) Tools::permit(given_, given_bytes_);  // it is the caller's again
  }

  // All memory goes back to upstream; the caller's buffer is used anew. O(buffers).
  void release() {
    const std::lock_guard guard(lock_);
    give_back_down_to(nullptr);
    next_bytes_ = first_bytes_;
    begin();
  }

  // A position of the resource: rewind() to it frees what was allocated after the mark was taken. A value.
  class Mark {
    friend BasicMonotonicResource;
    void* buffers;
    std::uintptr_t at;
    std::uintptr_t end;
    std::size_t next_bytes;
  };
  Mark mark() {
    const std::lock_guard guard(lock_);
    Mark mark;
    mark.buffers = buffers_;
    mark.at = at_;
    mark.end = end_;
    mark.next_bytes = next_bytes_;
    return mark;
  }
  // Frees all that was allocated since the mark was taken; buffers taken since then go back to upstream. Rewind to
  // marks in the opposite order: release(), or a rewind to an older mark, makes a mark invalid. O(buffers that go).
  void rewind(const Mark& mark) {
    const std::lock_guard guard(lock_);
    give_back_down_to(static_cast<Buffer*>(mark.buffers));
    at_ = mark.at;
    end_ = mark.end;
    next_bytes_ = mark.next_bytes;
    forbid(reinterpret_cast<char*>(at_), end_ - at_);
  }

  std::pmr::memory_resource* upstream_resource() const { return upstream_; }

 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    bytes = std::max<std::size_t>(bytes, 1);  // so that no two blocks have the same address
    const std::lock_guard guard(lock_);
    const std::uintptr_t at = ResourceClasses::rounded(at_, alignment);
    // In this order the test cannot overflow: `at` may lie behind the end, `bytes` may be anything.
    if (at > end_ || end_ - at < bytes) [[unlikely]]
      return allocate_in_next(bytes, alignment);
    at_ = at + bytes;
    return handed_out(reinterpret_cast<void*>(at), bytes);
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

 private:
  using Tools = Poison<true>;
  static constexpr std::size_t kDefaultBytes = 1024;
  static constexpr std::size_t kWord = 8;

  struct Buffer {
    Buffer* next;
    void* start;
    std::size_t bytes;
    std::size_t alignment;
  };

  static std::size_t grown(std::size_t bytes) { return bytes + std::min(bytes / 2 + 1, kMostBytes - bytes); }
  static constexpr std::size_t kMostBytes = std::numeric_limits<std::size_t>::max() / 2;

  // Address 1 and not 0 where there is no buffer: 0 bytes behind it is no room for anything, however it is aligned.
  void begin() noexcept {
    at_ = given_ != nullptr ? reinterpret_cast<std::uintptr_t>(given_) : 1;
    end_ = given_ != nullptr ? at_ + given_bytes_ : 1;
    if (given_ != nullptr) forbid(given_, given_bytes_);
  }

  void give_back_down_to(const Buffer* last) {
    while (buffers_ != last) {
      const Buffer buffer = *buffers_;  // the record goes with its memory
      buffers_ = buffer.next;
      Tools::permit(buffer.start, buffer.bytes);
      upstream_->deallocate(buffer.start, buffer.bytes, buffer.alignment);
    }
  }

  // Memory checkers are told only of whole words, not of bytes before the first one and behind the last.
  static void forbid(char* start, std::size_t bytes) noexcept {
    look_for_memcheck();
    const auto first = ResourceClasses::rounded(reinterpret_cast<std::uintptr_t>(start), kWord);
    const auto end = (reinterpret_cast<std::uintptr_t>(start) + bytes) & ~(kWord - 1);
    if (first < end) Tools::forbid(reinterpret_cast<void*>(first), end - first);
  }
  static void* handed_out(void* memory, std::size_t bytes) noexcept {
    Tools::hand_out(memory, bytes);
    return memory;
  }

  [[gnu::noinline]] void* allocate_in_next(std::size_t bytes, std::size_t alignment) {
    const std::size_t wanted = std::max(bytes, next_bytes_);
    if (wanted > kMostBytes - sizeof(Buffer) - alignof(Buffer)) return ask_for_everything(*upstream_);
    const std::size_t room = ResourceClasses::rounded(wanted, alignof(Buffer));
    const std::size_t strict = std::max(alignment, alignof(std::max_align_t));
    void* const start = upstream_->allocate(room + sizeof(Buffer), strict);
    char* const end = static_cast<char*>(start) + room;
    buffers_ = ::new (end) Buffer{buffers_, start, room + sizeof(Buffer), strict};
    next_bytes_ = std::min(grown(room), kMostBytes / 2);
    at_ = reinterpret_cast<std::uintptr_t>(start) + bytes;
    end_ = reinterpret_cast<std::uintptr_t>(end);
    forbid(static_cast<char*>(start), room);
    return handed_out(start, bytes);
  }

  std::pmr::memory_resource* upstream_;
  char* given_ = nullptr;
  std::size_t given_bytes_ = 0;
  std::size_t first_bytes_;
  std::size_t next_bytes_;
  std::uintptr_t at_ = 1;
  std::uintptr_t end_ = 1;
  Buffer* buffers_ = nullptr;
  [[no_unique_address]] Lock lock_;
};

// Classes and not aliases, so that a derived class may inherit their constructors by name.
class MonotonicResource : public BasicMonotonicResource<NoLock> {
 public:
  using BasicMonotonicResource::BasicMonotonicResource;
};
class SynchronizedMonotonicResource : public BasicMonotonicResource<PoolLock> {
 public:
  using BasicMonotonicResource::BasicMonotonicResource;
};

}  // namespace snug
