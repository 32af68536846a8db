// What a request does after the OS, or the limit on the process's memory, has refused. A size that exceeds the
// machine's memory or the limit by itself is refused at once. Else the request takes a free block of another heap; else
// it gives back what is only kept, and tries both again; then it takes a longer block (decision 0063). At last, where a
// limit is set, what other threads have cached comes home; and where there are callbacks, they are asked to free
// something, as long as one does; inside a callback neither. The calling thread holds no lock. Thread-safe.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/allocator.h"

namespace snug {

// Gives back what the calling thread's cache and the stores keep; with `from_others`, what other threads' caches hold
// as well. True if anything was given back. The allocator is open.
bool give_back(size_t pad, bool from_others);

// A block of a class longer than this one, and aligned as well: every multiple of 2^n has blocks at such multiples.
// Null if there is none, or where the size passed to a sized delete, or requested, decides the class of a block.
// O(classes * heaps).
void* take_longer(size_t size_class);

inline void* out_of_memory() {
  errno = ENOMEM;
  return nullptr;
}

// True if the size exceeds the machine's memory, or the limit: then it is useless to give back what is kept and to try
// again.
inline bool is_hopeless(size_t size) {
  return size > PTRDIFF_MAX || size > allocator.most_memory || size > allocator.footprint.limit();
}

// The last resorts of a request of so many bytes, one after the other.
class LastResorts {
 public:
  explicit LastResorts(size_t size) : size_(size), refusals_(allocator.footprint.refusals()) {}
  // True if more may be free now: the caller tries again, and asks again if that fails.
  bool next();

 private:
  size_t size_;
  uint32_t refusals_;  // by the limit, before the last attempt
  bool has_looked_around_ = false;
};

// Runs `attempt` and, if that is refused, once more after giving back what is only kept; not what other threads' caches
// hold, for which each refusal would have to wait some milliseconds. Then runs `otherwise`, and both again as long as
// there is a last resort.
template <class Attempt, class Otherwise>
void* insist(size_t size, Attempt attempt, Otherwise otherwise) {
  void* block = attempt();
  if (block != nullptr) [[likely]]
    return block;
  if (!allocator.is_open()) return out_of_memory();
  if (allocator.follows_container() && size > allocator.footprint.limit()) allocator.bound_footprint();
  if (!is_hopeless(size)) {
    give_back(0, false);
    allocator.spans.stock_arena();
    LastResorts resorts(size);
    do {
      block = attempt();
      if (block == nullptr) block = otherwise();
      if (block != nullptr) return block;
    } while (resorts.next());
  }
  allocator.pressure.count_refusal();
  return out_of_memory();
}

// Runs `attempt`, a block's change of length at its place. If the limit has refused it, and nothing else, goes the same
// way: a copy, which the caller makes otherwise, would want more.
template <class Attempt>
void* insist_on_resize(size_t size, Attempt attempt) {
  const uint32_t refusals = allocator.footprint.refusals();
  void* block = attempt();
  if (block != nullptr || allocator.footprint.refusals() == refusals || is_hopeless(size)) return block;
  give_back(0, false);
  LastResorts resorts(size);
  do block = attempt();
  while (block == nullptr && resorts.next());
  return block;
}

// The same for a block of the size's class. If attempt(class) has none, takes one of any heap; at last a longer one.
template <class Attempt>
void* insist_on_class(size_t size, Attempt attempt) {
  const auto from_any_heap = [&]() -> void* {
    if (!allocator.ensure_open()) return nullptr;
    const size_t size_class = allocator.table->class_of(size);
    void* block = attempt(size_class);
    return block != nullptr ? block : allocator.registry.take_anywhere(size_class);
  };
  return insist(size, from_any_heap, [&] {
    void* block = take_longer(allocator.table->class_of(size));
    // Where no page of the span store may hold records, a free chunk makes room for a mapping of them.
    const bool needs_mapping = block == nullptr && allocator.arena.is_guarded();
    return needs_mapping && allocator.spans.release_addresses() ? from_any_heap() : block;
  });
}

}  // namespace snug
