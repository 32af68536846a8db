// CompactHeap: a heap that moves its blocks, and Section. snug/compact_heap.h says what for, and explains the terms.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "snug/base/out_of_memory.h"
#include "snug/compact/compact_heap_core.h"
#include "snug/compact/handle.h"
#include "snug/compact/misuse.h"
#include "snug/compact/relocation.h"
#include "snug/compact_heap_c.h"

namespace snug {

class Section;
template <class T>
class Pinned;  // snug/compact/pinned.h

// Only one thread at a time may use it. Sections, pins and containers know the heap's address: move it only while there
// are none. "Moves" in a comment: the call may move any block, so that every address from the heap is stale, except
// those of pinned blocks and of blocks beyond 32 KiB; inside a Section the call ends the process with one line.
class CompactHeap : public CompactHeapCore {
 public:
  // Throws std::bad_alloc if there is no memory, or if an option is wrong.
  CompactHeap() : CompactHeap(CompactHeapOptions{}) {}
  explicit CompactHeap(const CompactHeapOptions& options) {
    if (!open(options, SNUG_COMPACT_ONE_THREAD)) throw_out_of_memory();
  }
  // The same, but the heap may be empty: see operator bool.
  static CompactHeap try_create(const CompactHeapOptions& options = {}) noexcept {
    CompactHeap heap(nullptr);
    heap.open(options, SNUG_COMPACT_ONE_THREAD);
    return heap;
  }
  CompactHeap(CompactHeap&& other) noexcept : CompactHeap(nullptr) { swap(other); }
  CompactHeap& operator=(CompactHeap&& other) noexcept {
    CompactHeap(std::move(other)).swap(*this);
    return *this;
  }
  // Frees all blocks without running destructors. No block may be pinned.
  ~CompactHeap() {
    expect_no_section("~CompactHeap");
    snug_compact_destroy(heap_);
  }
  // False for a heap that was moved from, or could not be made: it can be destroyed and assigned to.
  explicit operator bool() const noexcept { return heap_ != nullptr; }

  // ---- objects

  // A T made of the arguments. It is made before it is moved into its block, so that its constructor may use the heap.
  // An exception of the constructor propagates. Throws std::bad_alloc if there is no memory, no handle, or no kind left
  // (64, of types that functions move). Moves if the constructor does. O(1), or O(kinds).
  template <class T, class... Arguments>
  [[nodiscard]] Handle<T> make(Arguments&&... arguments) {
    return build<T>(throw_out_of_memory, std::forward<Arguments>(arguments)...);
  }
  // Null if there is no memory; for a kind, and inside a section, the arguments are used up all the same.
  template <class T, class... Arguments>
  [[nodiscard]] Handle<T> try_make(Arguments&&... arguments) {
    return build<T>([] {}, std::forward<Arguments>(arguments)...);
  }
  // Null is ignored. The object is taken out of its block first, so that its destructor may use the heap. Moves. O(1).
  template <class T>
  void destroy(Handle<T> object) noexcept;
  // Replaces the object by another, made of the arguments. An assignment in the block would be wrong if the members
  // that it assigns free blocks: then the object may move while it is assigned to. Moves if the constructor of the new
  // or the destructor of the old object does. Both are on the stack for a moment, whatever their length.
  template <class T, class... Arguments>
  void replace(Handle<T> object, Arguments&&... arguments);

  // ---- bytes

  // Null is ignored; runs no destructor. Moves. O(1).
  void deallocate(Handle<> block) noexcept {
    expect_no_section("deallocate");
    snug_compact_free(heap_, block.word());
  }
  // Gives the block another size under the same handle; contents are kept. False: there is no memory, or the block is
  // pinned and too short. Moves. O(bytes).
  bool resize(Handle<> block, std::size_t bytes, std::size_t alignment = 0) noexcept {
    expect_no_section("resize");
    return snug_compact_resize(heap_, block.word(), bytes, alignment) == 0;
  }
  // ---- where things are

  // The address, valid until the next call that moves. A handle that names no live block, null included, ends the
  // process with one line. O(1).
  template <class T>
  [[nodiscard, gnu::always_inline]] T* get(Handle<T> object) noexcept {
    const auto slot = static_cast<std::uint32_t>(object.word());
    std::uint64_t address = object.word();
    if (slot >= view_.slot_limit || (address ^= view_.slots[slot]) >= address_limit_) [[unlikely]]
      return static_cast<T*>(look_up(object.word()));
    return reinterpret_cast<T*>(address);
  }
  template <class T>
    requires(!std::is_void_v<T>)
  [[nodiscard, gnu::always_inline]] T& operator[](Handle<T> object) noexcept {
    return *get(object);
  }
  // Null for a handle that names no live block.
  template <class T>
  [[nodiscard]] T* try_get(Handle<T> object) noexcept {
    return static_cast<T*>(snug_compact_try_deref(heap_, object.word()));
  }
  // The block stays where it is as long as the Pinned lives. Empty if it has fifteen pins already. O(1).
  template <class T>
  [[nodiscard]] Pinned<T> pin(Handle<T> object) noexcept;

  // ---- compaction

  // Compacts down to one page with free blocks a class. Moves. O(blocks).
  void compact() noexcept { step(0, 0); }
  // A slice: the same for so long (a std::chrono::duration), and so many bytes if they are not 0. Reads the clock
  // before each increment, and makes no system call: pages that it empties go back with later calls. True if something
  // is left to do. Moves.
  template <class Duration>
  bool compact(Duration time, std::size_t bytes = 0) noexcept {
    constexpr auto kNumerator = Duration::period::num;
    constexpr auto kDenominator = Duration::period::den;
    const auto nanoseconds = static_cast<double>(time.count()) * kNumerator * 1e9 / kDenominator;
    if (nanoseconds >= kNoTimeLimit) return step(0, bytes);
    // 0 would be no limit.
    return step(nanoseconds >= 1 ? static_cast<std::uint64_t>(nanoseconds) : 1, bytes);
  }
  bool compact_bytes(std::size_t bytes) noexcept { return step(0, bytes == 0 ? 1 : bytes); }
  // Gives so many rows of pages that slices have emptied (0: all) to the OS, each with a system call. Returns how many
  // went: fewer if no more are to go.
  std::size_t give_back(std::size_t rows = 0) noexcept { return snug_compact_give_back(heap_, rows); }
  // Gives up the move that a slice has begun. O(classes).
  [[gnu::cold, gnu::noinline]] void settle() noexcept {
    snug_compact_settle(heap_);
    may_be_moving_ = false;
  }

  // Sets the bound of every class; at least 1. A smaller bound holds when the call returns. Moves. O(pages).
  void set_not_full(std::size_t pages) noexcept {
    expect_no_section("set_not_full");
    snug_compact_set_not_full(heap_, pages);
  }
  // The same only for blocks of so many bytes, until the next call for all; not for kinds. False: there is no memory.
  bool set_not_full_of(std::size_t bytes, std::size_t pages) noexcept {
    expect_no_section("set_not_full_of");
    return snug_compact_set_not_full_of(heap_, bytes, pages) == 0;
  }

  void swap(CompactHeap& other) noexcept {
    expect_no_section("swap");
    other.expect_no_section("swap");
    std::swap(view_, other.view_);
    std::swap(heap_, other.heap_);
    std::swap(may_be_moving_, other.may_be_moving_);
  }

 private:
  friend class Section;
  friend class Building;
  template <class T>
  friend class Pinned;

  // 146 years: a budget of more has no limit.
  static constexpr double kNoTimeLimit = 4611686018427387904.0;

  explicit CompactHeap(std::nullptr_t) noexcept {}

  // Ends a move of the block, and takes over the table's new length.
  [[gnu::cold, gnu::noinline]] void* look_up(snug_handle handle) noexcept {
    void* const block = snug_compact_deref(heap_, handle);
    snug_compact_get_view(heap_, &view_);
    return block;
  }
  bool step(std::uint64_t nanoseconds, std::uint64_t bytes) noexcept {
    expect_no_section("compact");
    const snug_compact_budget budget{nanoseconds, bytes};
    may_be_moving_ = snug_compact_step(heap_, &budget) != 0;
    return may_be_moving_;
  }
  void expect_no_section(const char* call) noexcept {
    if (sections_ != 0) [[unlikely]]
      refuse(call);
  }
  // Ends the process for a call inside a section; not while an element's constructor throws and its members free
  // blocks, as no address is used again then.
  [[gnu::cold, gnu::noinline]] void refuse(const char* call) noexcept {
#if defined(__cpp_exceptions)
    if (sections_ == building_ && std::uncaught_exceptions() != 0) {
      ++forgiven_;
      return;
    }
#endif
    die_of_compact_misuse(call, heap_, "may move blocks, and a section is open");
  }
  // refused() is called if there is no memory.
  template <class T, class Refused, class... Arguments>
  Handle<T> build(Refused refused, Arguments&&... arguments);

  // Addresses are below this. In memory, since a constant of that length takes an instruction of its own.
  std::uint64_t address_limit_ = std::uint64_t{1} << 48;
  std::uint32_t sections_ = 0;  // open
  std::uint32_t building_ = 0;  // the open sections in which elements are made
  std::uint32_t forgiven_ = 0;  // calls that may have moved blocks in there
  bool may_be_moving_ = false;  // a slice has ended in a move
};

// While a Section lives no block moves, so that addresses stay valid: calls that may move end the process. Sections
// nest.
class Section {
 public:
  // Gives up a move that a slice has begun.
  [[gnu::always_inline]] explicit Section(CompactHeap& heap) noexcept : slots_(heap.view_.slots), heap_(heap) {
    if (heap.may_be_moving_) [[unlikely]]
      heap.settle();
    ++heap.sections_;
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  [[gnu::always_inline]] ~Section() { --heap_.sections_; }

  // Unchecked: the handle must name a live object of the heap.
  template <class T>
  [[nodiscard, gnu::always_inline]] T* get(Handle<T> object) const noexcept {
    return reinterpret_cast<T*>(slots_[static_cast<std::uint32_t>(object.word())] ^ object.word());
  }
  template <class T>
    requires(!std::is_void_v<T>)
  [[nodiscard, gnu::always_inline]] T& operator[](Handle<T> object) const noexcept {
    return *get(object);
  }

 private:
  const std::uint64_t* slots_;
  CompactHeap& heap_;
};

template <class T, class Refused, class... Arguments>
Handle<T> CompactHeap::build(Refused refused, Arguments&&... arguments) {
  static_assert(std::is_object_v<T> && !std::is_array_v<T>, "a handle names one object: for many take CompactVector");
  using Object = std::remove_cv_t<T>;
  // Frees the block unless the object was moved into it.
  struct Claim {
    CompactHeap& heap;
    snug_handle word = 0;
    ~Claim() {
      if (word == 0) return;
      if constexpr (kMovesInHeap<T>) heap.expect_no_section("deallocate");
      snug_compact_free(heap.heap_, word);
    }
  } claim{*this};
  if constexpr (!kMovesInHeap<T>) {
    claim.word = snug_compact_alloc(heap_, sizeof(T), alignof(T));
    if (claim.word == 0) return refused(), Handle<T>();
    ::new (get(Handle<>(claim.word))) Object(std::forward<Arguments>(arguments)...);
  } else {
    // The block is taken first, so that the arguments are not used up if there is none; but not where it could not be
    // freed, nor for a kind: the constructor's frees could move the block, in which there is no object yet.
    bool has_block = false;
    if constexpr (kMovedAsBytes<Object>) has_block = sections_ == building_;
    if (has_block && (claim.word = snug_compact_alloc(heap_, sizeof(T), alignof(T))) == 0)
      return refused(), Handle<T>();
    Replacement<Object> made(std::forward<Arguments>(arguments)...);
    if (!has_block) {
      if constexpr (kMovedAsBytes<Object>)
        claim.word = snug_compact_alloc(heap_, sizeof(T), alignof(T));
      else
        claim.word = snug_compact_alloc_relocated(heap_, sizeof(T), alignof(T), &relocate_at<Object>);
      if (claim.word == 0) return refused(), Handle<T>();
    }
    made.move_to(get(Handle<>(claim.word)));
  }
  return Handle<T>(std::exchange(claim.word, 0));
}

template <class T>
void CompactHeap::destroy(Handle<T> object) noexcept {
  using Object = std::remove_cv_t<T>;
  if (!object) return;
  if constexpr (std::is_trivially_destructible_v<T>) {
    deallocate(object);
  } else if constexpr (!kMovesInHeap<T>) {
    get(object)->~T();
    deallocate(object);
  } else {
    expect_no_section("destroy");
    // A destructor that frees other blocks would have its own object moved away.
    const TakenOut<Object> taken(const_cast<Object*>(get(object)));
    deallocate(object);
  }
}

template <class T, class... Arguments>
void CompactHeap::replace(Handle<T> object, Arguments&&... arguments) {
  Replacement<T> made(std::forward<Arguments>(arguments)...);
  made.put_at(get(object));
}

}  // namespace snug
