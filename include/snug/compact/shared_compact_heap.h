// SharedCompactHeap: a compacting heap that several threads share. Each of them has a CompactReader, and touches blocks
// in a SharedSection: a block that it looks up there does not move until the section ends.
//
//   snug::SharedCompactHeap heap;
//   snug::CompactReader reader(heap);                  // one for each thread
//   {
//     snug::SharedSection section(reader);
//     snug::Handle<Point> point = section.make<Point>(1, 2);
//     section[point].x = 3;                            // valid up to the end of the section, whatever others free
//     section.destroy(point);
//   }
//
// A section takes no lock and makes no thread wait, but it keeps blocks from moving: stay inside for microseconds. As
// with malloc, only one thread at a time may free, destroy, resize or write to a given block.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "snug/base/out_of_memory.h"
#include "snug/compact/compact_heap_core.h"
#include "snug/compact/handle.h"
#include "snug/compact/misuse.h"
#include "snug/compact/relocation.h"
#include "snug/compact_heap_c.h"

// 1 where ThreadSanitizer is active, which does not see a load in assembler.
#define SNUG_LOADS_ARE_WATCHED 0
#if defined(__SANITIZE_THREAD__)
#undef SNUG_LOADS_ARE_WATCHED
#define SNUG_LOADS_ARE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef SNUG_LOADS_ARE_WATCHED
#define SNUG_LOADS_ARE_WATCHED 1
#endif
#endif

namespace snug {

// Which locks the threads of a heap take when they allocate, free and move.
enum class CompactLocks {
  kOne = SNUG_COMPACT_ONE_LOCK,
  kOfClasses = SNUG_COMPACT_CLASS_LOCKS,
  kOfCores = SNUG_COMPACT_CORES,  // a heap for each core; not in a region
};

// Any threads may use it at once, except its destructor. Readers and sections know its address.
class SharedCompactHeap : public CompactHeapCore {
 public:
  // Throws std::bad_alloc if there is no memory, or if an option is wrong.
  explicit SharedCompactHeap(const CompactHeapOptions& from = {}, CompactLocks locks = CompactLocks::kOfClasses) {
    if (!open(from, static_cast<snug_compact_sharing>(locks))) throw_out_of_memory();
  }
  // Frees all blocks without running destructors. No block may be pinned, and no thread may be in a section.
  ~SharedCompactHeap() { snug_compact_destroy(heap_); }

  // Null is ignored; runs no destructor. O(1).
  void deallocate(Handle<> block) noexcept { snug_compact_free(heap_, block.word()); }
  // Gives the block another size under the same handle; contents are kept. False: there is no memory, or the block is
  // pinned and too short. Addresses of this block are stale afterwards, in sections as well. O(bytes).
  bool resize(Handle<> block, std::size_t bytes, std::size_t alignment = 0) noexcept {
    return snug_compact_resize(heap_, block.word(), bytes, alignment) == 0;
  }
  // Keeps the block where it is until it is unpinned as often; null if it has fifteen pins already. O(1). The unpin
  // makes the moves that the pin has held up: O(blocks of a page).
  template <class T>
  [[nodiscard]] T* pin(Handle<T> object) noexcept {
    return static_cast<T*>(snug_compact_pin(heap_, object.word()));
  }
  void unpin(Handle<> object) noexcept { snug_compact_unpin(heap_, object.word()); }

  // Compacts down to one page with free blocks a class, as far as readers let it: true if something is left to do.
  // nanoseconds and bytes: 0 is no limit; checked before each increment.
  bool compact(std::uint64_t nanoseconds = 0, std::uint64_t bytes = 0) noexcept {
    const snug_compact_budget budget{nanoseconds, bytes};
    return snug_compact_step(heap_, &budget) != 0;
  }
  // Gives so many rows of pages that slices have emptied (0: all) to the OS, each with a system call. Returns how many
  // went: fewer if no more are to go.
  std::size_t give_back(std::size_t rows = 0) noexcept { return snug_compact_give_back(heap_, rows); }
  // Sets the bound of every class; at least 1. A smaller bound holds when the call returns, as far as readers let it.
  // O(pages).
  void set_not_full(std::size_t pages) noexcept { snug_compact_set_not_full(heap_, pages); }

 private:
  friend class CompactReader;
  friend class SharedSection;
};

// Belongs to one thread, or to another unit of execution that is in one section at a time.
class CompactReader {
 public:
  // Throws std::bad_alloc if there is no memory. O(readers).
  explicit CompactReader(SharedCompactHeap& heap)
      : heap_(heap), reader_(snug_compact_reader_create(heap.c_heap())), slot_limit_(heap.view_.slot_limit) {
    if (reader_ == nullptr) throw_out_of_memory();
  }
  CompactReader(const CompactReader&) = delete;
  CompactReader& operator=(const CompactReader&) = delete;
  ~CompactReader() { snug_compact_reader_destroy(heap_.c_heap(), reader_); }

 private:
  friend class SharedSection;

  SharedCompactHeap& heap_;
  snug_compact_reader* reader_;
  std::size_t slot_limit_;  // the thread's copy; slots beyond it are looked up by a call
};

// Sections of one reader do not nest: that ends the process with one line.
class SharedSection {
 public:
  [[gnu::always_inline]] explicit SharedSection(CompactReader& reader) noexcept
      : heap_(reader.heap_),
        owner_(reader),
        reader_(reader.reader_),
        slots_(heap_.view_.slots),
        slot_limit_(reader.slot_limit_) {
    const std::uint64_t now = __atomic_load_n(heap_.view_.epoch, __ATOMIC_ACQUIRE);
    if (__atomic_exchange_n(&reader_->epoch, now, __ATOMIC_SEQ_CST) != 0) [[unlikely]]
      die_of_compact_misuse("SharedSection", heap_.heap_, "the reader is in a section already");
  }
  SharedSection(const SharedSection&) = delete;
  SharedSection& operator=(const SharedSection&) = delete;
  [[gnu::always_inline]] ~SharedSection() { __atomic_store_n(&reader_->epoch, 0, __ATOMIC_RELEASE); }

  // For handles that name a live object. A freed handle is not detected if its slot serves another block.
  template <class T>
  [[nodiscard, gnu::always_inline]] T* get(Handle<T> object) const noexcept {
    const std::size_t slot = static_cast<std::uint32_t>(object.word());
    std::uint64_t address = object.word();
    if (is_kept_from(&slots_[slot], &address)) [[unlikely]]
      return static_cast<T*>(look_up(slot, address));
    return reinterpret_cast<T*>(address);
  }
  template <class T>
    requires(!std::is_void_v<T>)
  [[nodiscard, gnu::always_inline]] T& operator[](Handle<T> object) const noexcept {
    return *get(object);
  }
  // For any handle: one that names no live block ends the process with one line.
  template <class T>
  [[nodiscard, gnu::always_inline]] T* checked(Handle<T> object) const noexcept {
    const auto slot = static_cast<std::uint32_t>(object.word());
    std::uint64_t address = object.word();
    if (slot >= slot_limit_ || (address ^= load(object.word())) >= address_limit_) [[unlikely]]
      return static_cast<T*>(look_up(object.word()));
    return reinterpret_cast<T*>(address);
  }
  // Null for a handle that names no live block.
  template <class T>
  [[nodiscard]] T* try_get(Handle<T> object) const noexcept {
    return static_cast<T*>(snug_compact_try_deref(heap_.heap_, object.word()));
  }

  // A T made of the arguments before it is moved into its block, or in the block if it is too large to move (beyond
  // 32 KiB). An exception of its constructor propagates. Throws std::bad_alloc if there is no memory, no handle, or no
  // kind left (64, of types that functions move).
  template <class T, class... Arguments>
  [[nodiscard]] Handle<T> make(Arguments&&... arguments) const {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>, "a handle names one object");
    using Object = std::remove_cv_t<T>;
    if constexpr (!kMovesInHeap<T>) {
      Claim claim{heap_.heap_, snug_compact_alloc(heap_.heap_, sizeof(T), alignof(T))};
      if (claim.word == 0) throw_out_of_memory();
      ::new (get(Handle<>(claim.word))) Object(std::forward<Arguments>(arguments)...);
      return Handle<T>(std::exchange(claim.word, 0));
    } else {
      Replacement<Object> made(std::forward<Arguments>(arguments)...);
      snug_handle word = 0;
      if constexpr (kMovedAsBytes<Object>)
        word = snug_compact_alloc(heap_.heap_, sizeof(T), alignof(T));
      else
        word = snug_compact_alloc_relocated(heap_.heap_, sizeof(T), alignof(T), &relocate_at<Object>);
      if (word == 0) throw_out_of_memory();
      // The section keeps it from being moved before there is an object in it.
      made.move_to(get(Handle<Object>(word)));
      return Handle<T>(word);
    }
  }
  // Null is ignored. An object that moves is taken out of its block first, so that its destructor may use the heap.
  template <class T>
  void destroy(Handle<T> object) const noexcept {
    using Object = std::remove_cv_t<T>;
    if (!object) return;
    if constexpr (!kMovesInHeap<T>) {
      checked(object)->~T();
      snug_compact_free(heap_.heap_, object.word());
    } else {
      const TakenOut<Object> taken(const_cast<Object*>(checked(object)));
      snug_compact_free(heap_.heap_, object.word());
    }
  }

 private:
  // Frees the block unless an object was moved into it.
  struct Claim {
    snug_compact_heap* heap;
    snug_handle word;
    ~Claim() { snug_compact_free(heap, word); }
  };
  [[gnu::always_inline]] std::uint64_t load(snug_handle handle) const noexcept {
    return __atomic_load_n(&slots_[static_cast<std::uint32_t>(handle)], __ATOMIC_SEQ_CST);
  }
  // Turns a handle into an address. True if it is none: the highest bit stays set if the handle's block is being moved,
  // or its slot is free. On x86-64 any load has the required order. With the exclusive or it is one instruction, which
  // also reports that bit, and no compiler makes that of an atomic load.
  [[gnu::always_inline]] static bool is_kept_from(const std::uint64_t* slot, std::uint64_t* handle) noexcept {
#if defined(__x86_64__) && !SNUG_LOADS_ARE_WATCHED
    bool has_highest_bit;
    __asm__ volatile("xor{q %2, %0| %0, %2}" : "+r"(*handle), "=@ccs"(has_highest_bit) : "m"(*slot) : "memory");
    return has_highest_bit;
#else
    *handle ^= __atomic_load_n(slot, __ATOMIC_SEQ_CST);
    return static_cast<std::int64_t>(*handle) < 0;
#endif
  }
  // Restores the handle from what is_kept_from() has left of it, so that the fast path need not keep the handle: the
  // slot's word has the upper bits of the handle that it serves, without the highest while its block moves, and none if
  // it is free. (A slot of 32 bits would be passed as the lower half of the handle, which would then be kept after
  // all.)
  [[gnu::cold, gnu::noinline]] void* look_up(std::size_t slot, std::uint64_t left) const noexcept {
    const std::uint64_t upper_bits = (left ^ load(slot)) >> 48 << 48;
    return look_up(snug_handle{1} << 63 | upper_bits | slot);
  }
  [[gnu::cold, gnu::noinline]] void* look_up(snug_handle handle) const noexcept {
    // The table may have grown: for the next section.
    snug_compact_view view;
    snug_compact_get_view(heap_.heap_, &view);
    owner_.slot_limit_ = view.slot_limit;
    return snug_compact_deref(heap_.heap_, handle);
  }

  const SharedCompactHeap& heap_;
  CompactReader& owner_;
  snug_compact_reader* const reader_;
  const std::uint64_t* const slots_;
  const std::size_t slot_limit_;
  // Addresses are below this. In memory, since a constant of that length takes an instruction of its own.
  const std::uint64_t address_limit_ = std::uint64_t{1} << 48;
};

}  // namespace snug

#undef SNUG_LOADS_ARE_WATCHED
