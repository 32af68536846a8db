// CompactVector: a growing array in one block of a CompactHeap.
//
//   handle_   null, or the block of capacity_ elements, of which the first size_ live
//
// The heap must live longer, where it is. Calls that say "Moves" make every address in the heap stale, elements' and
// iterators' included; the others may be made inside a section. A container may lie in a block itself: whatever may
// move blocks comes last in each function, when nothing of *this is looked at any more.
#pragma once

#include "snug/cpp20.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "snug/compact/basic_compact_heap.h"

namespace snug {

template <class T>
class CompactVector {
  static_assert(
      kMovedAsBytes<T>,
      "a CompactVector moves its elements by copying their bytes: specialise snug::kTriviallyRelocatable<T> if "
      "T allows that, else hold Handle<T>");

 public:
  using value_type = T;

  // Takes no memory.
  explicit CompactVector(CompactHeap& heap) noexcept : heap_(&heap) {}
  CompactVector(CompactHeap& heap, std::initializer_list<T> elements) : CompactVector(heap) {
    append(elements.begin(), elements.size());
  }
  CompactVector(const CompactVector& other) : CompactVector(*other.heap_) {
    if (other.size_ != 0) append(other.data(), other.size_);
  }
  CompactVector(CompactVector&& other) noexcept : CompactVector(*other.heap_) { swap(other); }
  // Moves.
  CompactVector& operator=(const CompactVector& other) {
    CompactVector copy(other);
    swap(copy);
    return *this;
  }
  CompactVector& operator=(CompactVector&& other) noexcept {
    CompactVector taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~CompactVector() { end(*heap_, handle_, 0, size_); }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t capacity() const noexcept { return capacity_; }
  CompactHeap& heap() const noexcept { return *heap_; }

  // Of the first element, null if there is no block. Good until the next call that moves, as all that follows here.
  T* data() noexcept { return handle_ ? heap_->get(handle_) : nullptr; }
  const T* data() const noexcept { return handle_ ? heap_->get(handle_) : nullptr; }
  T& operator[](std::size_t index) noexcept { return heap_->get(handle_)[index]; }
  const T& operator[](std::size_t index) const noexcept { return heap_->get(handle_)[index]; }
  T& front() noexcept { return (*this)[0]; }
  T& back() noexcept { return (*this)[size_ - 1]; }
  const T& front() const noexcept { return (*this)[0]; }
  const T& back() const noexcept { return (*this)[size_ - 1]; }
  // All elements, as long as the section is open and the vector does not grow: for (T& element : vector.in(section))
  std::span<T> in(const Section& section) noexcept { return {handle_ ? section.get(handle_) : nullptr, size_}; }
  std::span<const T> in(const Section& section) const noexcept {
    return {handle_ ? section.get(handle_) : nullptr, size_};
  }

  // Throw std::bad_alloc if there is no memory; then nothing has changed. Elements may be made of other elements.
  // Move. Amortised O(1).
  void push_back(const T& element) { emplace_back(element); }
  void push_back(T&& element) { emplace_back(std::move(element)); }
  // The constructor runs inside a section.
  template <class... Arguments>
  void emplace_back(Arguments&&... arguments) {
    FreedLast old(*heap_);
    make_room(size_ + 1, old);
    {
      const Section still(*heap_);
      ::new (place(still, size_)) T(std::forward<Arguments>(arguments)...);
    }
    ++size_;
  }
  // Of elements that are trivially copyable, or copied one by one.
  void append(const T* elements, std::size_t count) {
    FreedLast old(*heap_);
    make_room(size_ + count, old);
    const Section still(*heap_);
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (count != 0) std::memcpy(place(still, size_), elements, count * sizeof(T));
      size_ += count;
    } else {
      for (; count != 0; --count, ++size_) ::new (place(still, size_)) T(*elements++);
    }
  }
  // Value-initialises what is new, or copies `element` there. Moves.
  void resize(std::size_t size) {
    if (size <= size_) return shrink(size);
    grow(size, [](void* place) { ::new (place) T(); });
  }
  void resize(std::size_t size, const T& element) {
    if (size <= size_) return shrink(size);
    grow(size, [&element](void* place) { ::new (place) T(element); });
  }
  void reserve(std::size_t capacity) {
    FreedLast old(*heap_);
    if (capacity > capacity_) change_block(capacity, old);
  }
  void shrink_to_fit() {
    if (size_ == 0) return clear_and_free();
    FreedLast old(*heap_);
    change_block(size_, old);
  }

  // There is one. Moves if T has a destructor.
  void pop_back() noexcept { shrink(size_ - 1); }
  // Keeps the block. O(size) if T has a destructor, else O(1). Moves as pop_back().
  void clear() noexcept { shrink(0); }
  // Another element in its place, made of the arguments: as CompactHeap::replace(). Moves as pop_back().
  template <class... Arguments>
  void replace(std::size_t index, Arguments&&... arguments) {
    Replacement<T> made(*heap_, std::forward<Arguments>(arguments)...);
    made.put_at(data() + index);
  }
  // The elements behind come one place nearer. O(elements behind). Moves as pop_back().
  void erase(std::size_t index) noexcept {
    T* const elements = data();
    if constexpr (std::is_trivially_destructible_v<T>) {
      close_gap(elements, index);
    } else {
      const TakenOut<T> taken(elements + index);
      close_gap(elements, index);
    }
  }

  void swap(CompactVector& other) noexcept {
    std::swap(heap_, other.heap_);
    std::swap(handle_, other.handle_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  friend bool operator==(const CompactVector& a, const CompactVector& b) noexcept {
    return a.size_ == b.size_ && std::equal(a.data(), a.data() + a.size_, b.data());
  }

 private:
  // The block that a larger one has replaced: freed when the function has come to its end.
  struct FreedLast {
    explicit FreedLast(CompactHeap& owner) noexcept : heap(owner) {}
    FreedLast(const FreedLast&) = delete;
    FreedLast& operator=(const FreedLast&) = delete;
    ~FreedLast() {
      if (block) heap.free(block);
    }
    CompactHeap& heap;
    Handle<> block;
  };

  static void* place(const Section& section, Handle<T> handle, std::size_t index) noexcept {
    return static_cast<void*>(const_cast<std::remove_cv_t<T>*>(section.get(handle) + index));
  }
  void* place(const Section& section, std::size_t index) const noexcept { return place(section, handle_, index); }

  void make_room(std::size_t size, FreedLast& old) {
    if (size > capacity_) change_block(std::max(size, capacity_ + capacity_ / 2), old);
  }
  void change_block(std::size_t capacity, FreedLast& old) {
    if (capacity > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw_out_of_memory();
    const Handle<T> grown(heap_->alloc(capacity * sizeof(T), alignof(T)).word());
    const Section still(*heap_);
    if (size_ != 0) std::memcpy(place(still, grown, 0), place(still, 0), size_ * sizeof(T));
    old.block = handle_;
    handle_ = grown;
    capacity_ = heap_->usable_size(grown) / sizeof(T);
  }
  template <class Make>
  void grow(std::size_t size, Make make) {
    FreedLast old(*heap_);
    make_room(size, old);
    const Section still(*heap_);
    for (; size_ != size; ++size_) make(place(still, size_));
  }
  void shrink(std::size_t size) noexcept {
    const std::size_t had = size_;
    size_ = size;
    if constexpr (!std::is_trivially_destructible_v<T>) end_elements(*heap_, handle_, size, had);
  }
  void clear_and_free() noexcept {
    CompactVector old(*heap_);
    swap(old);
  }
  void close_gap(T* elements, std::size_t index) noexcept {
    --size_;
    std::memmove(static_cast<void*>(elements + index), static_cast<const void*>(elements + index + 1),
                 (size_ - index) * sizeof(T));
  }
  // Each element may free blocks, so that the next lies elsewhere.
  static void end_elements(CompactHeap& heap, Handle<T> handle, std::size_t first, std::size_t last) noexcept {
    for (; first != last; ++first) const TakenOut<T> taken(heap.get(handle) + first);
  }
  static void end(CompactHeap& heap, Handle<T> handle, std::size_t first, std::size_t last) noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) end_elements(heap, handle, first, last);
    if (handle) heap.free(handle);
  }

  CompactHeap* heap_;
  Handle<T> handle_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

template <class T>
inline constexpr bool kTriviallyRelocatable<CompactVector<T>> = true;

}  // namespace snug
