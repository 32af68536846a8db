// What a request does that the OS has refused: it gives back what is only kept, tries again, and is served out of what
// others have free (decision 0063). The calling thread holds no lock. Thread-safe.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "heap/store.h"

namespace snug {

// What the calling thread keeps, and what no thread owns; with `from_others`, what others' caches have as well. True if
// anything was given back. The store is open.
bool give_back(size_t pad, bool from_others);

// A block of a class longer than this one, and aligned as well: every multiple of 2^n has blocks at such multiples.
// Null if there is none, and where the size that a block is freed with, or was asked for, says its class. O(classes *
// heaps).
void* take_longer(size_t size_class);

inline void* out_of_memory() {
  errno = ENOMEM;
  return nullptr;
}

// More than the machine has, and refused: not worth giving back what is kept for a second try.
inline bool is_hopeless(size_t size) { return size > PTRDIFF_MAX || size > store.most_memory; }

// Runs `attempt` and, if the OS has refused, once more after giving back what is only kept, but for other threads'
// caches, for which each refusal would have to wait some milliseconds. At last does what `otherwise` does.
template <class Attempt, class Otherwise>
void* insist(size_t size, Attempt attempt, Otherwise otherwise) {
  void* block = attempt();
  if (block != nullptr) [[likely]]
    return block;
  if (!store.is_open() || is_hopeless(size)) return out_of_memory();
  give_back(0, false);
  store.spans.stock_arena();
  block = attempt();
  if (block == nullptr) block = otherwise();
  return block != nullptr ? block : out_of_memory();
}

// The same for a block of the size's class. Where attempt(class) has none, any heap's serves; at last one that is
// longer.
template <class Attempt>
void* insist_on_class(size_t size, Attempt attempt) {
  const auto from_any_heap = [&]() -> void* {
    if (!store.ensure_open()) return nullptr;
    const size_t size_class = store.table->class_of(size);
    void* block = attempt(size_class);
    return block != nullptr ? block : store.registry.take_anywhere(size_class);
  };
  return insist(size, from_any_heap, [&] {
    void* block = take_longer(store.table->class_of(size));
    // Where no page of the store may hold records, a free chunk makes room for a mapping of them.
    const bool needs_mapping = block == nullptr && store.arena.is_guarded();
    return needs_mapping && store.spans.release_addresses() ? from_any_heap() : block;
  });
}

}  // namespace snug
