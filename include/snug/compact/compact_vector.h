// CompactVector: a growing array in one block of a CompactHeap.
//
//   handle_   null, or the block of capacity_ elements, of which the first size_ live
//
// The heap must live longer, and must not be moved. Calls that say "Moves" make every address in the heap stale,
// elements' and iterators' included; the others may be made inside a section. A container may lie in a block itself:
// steps that may move blocks come last in each function, when *this is not read any more. So elements are made inside a
// section (snug/compact/building.h): their constructors may allocate in the heap, may free only when they throw, and
// must not change the container.
//
// A copy lies in the heap of its original, and an assignment takes over the heap of its source.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "snug/compact/basic_compact_heap.h"
#include "snug/compact/building.h"

namespace snug {

// T may be incomplete where the vector is a member of it.
template <class T>
class CompactVector {
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

  // The address of the first element, null if there is no block. As the references below, it is valid until the next
  // call that moves.
  T* data() noexcept { return handle_ ? heap_->get(handle_) : nullptr; }
  const T* data() const noexcept { return handle_ ? heap_->get(handle_) : nullptr; }
  T& operator[](std::size_t index) noexcept { return heap_->get(handle_)[index]; }
  const T& operator[](std::size_t index) const noexcept { return heap_->get(handle_)[index]; }
  T& front() noexcept { return (*this)[0]; }
  T& back() noexcept { return (*this)[size_ - 1]; }
  const T& front() const noexcept { return (*this)[0]; }
  const T& back() const noexcept { return (*this)[size_ - 1]; }
  // All elements, valid while the section is open and the vector does not grow: for (T& element : vector.in(section))
  std::span<T> in(const Section& section) noexcept { return {handle_ ? section.get(handle_) : nullptr, size_}; }
  std::span<const T> in(const Section& section) const noexcept {
    return {handle_ ? section.get(handle_) : nullptr, size_};
  }

  // Throw std::bad_alloc if there is no memory, and what the constructors of elements throw; then nothing has changed.
  // Elements may be made of other elements. Move. Amortised O(1) an element.
  void push_back(const T& element) { emplace_back(element); }
  void push_back(T&& element) { emplace_back(std::move(element)); }
  template <class... Arguments>
  void emplace_back(Arguments&&... arguments) {
    Room room(*heap_);
    make_room(1, room);
    // Made before the others move to the larger block: it may be made of one of them, which then loses its contents.
    if constexpr (std::is_trivially_copyable_v<T> && std::is_trivially_constructible_v<Object, Arguments...>) {
      const Handle<T> block = room.block ? Handle<T>(room.block.word()) : handle_;
      ::new (static_cast<void*>(place(*heap_, block, size_))) Object(std::forward<Arguments>(arguments)...);
      move_into(room);
    } else {
      Building building(*heap_, size_);
      Replacement<Object> made(std::forward<Arguments>(arguments)...);
      building.end();
      move_into(room);
      made.move_to(place(*heap_, handle_, size_));
    }
    ++size_;
  }
  // Appends copies: by bytes if T is trivially copyable, else one by one.
  void append(const T* elements, std::size_t count) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      Room room(*heap_);
      make_room(count, room);
      move_into(room);
      if (count != 0) std::memcpy(static_cast<void*>(place(*heap_, handle_, size_)), elements, count * sizeof(T));
      size_ += count;
    } else {
      grow(count, [elements](auto add) mutable { add(*elements++); });
    }
  }
  // Value-initialises new elements, or copies `element` to them. Moves.
  void resize(std::size_t size) {
    if (size <= size_) return shrink(size);
    grow(size - size_, [](auto add) { add(); });
  }
  void resize(std::size_t size, const T& element) {
    if (size <= size_) return shrink(size);
    grow(size - size_, [&element](auto add) { add(element); });
  }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    Room room(*heap_);
    take_block(capacity, room);
    move_into(room);
  }
  void shrink_to_fit() {
    if (size_ == capacity_) return;
    if (size_ == 0) return clear_and_free();
    Room room(*heap_);
    take_block(size_, room);
    move_into(room);
  }

  // The vector must not be empty. Moves if T has a destructor.
  void pop_back() noexcept { shrink(size_ - 1); }
  // Keeps the block. O(size) if T has a destructor, else O(1). Moves as pop_back().
  void clear() noexcept { shrink(0); }
  // Replaces the element by another, made of the arguments: as CompactHeap::replace(). Moves as pop_back().
  template <class... Arguments>
  void replace(std::size_t index, Arguments&&... arguments) {
    Building building(*heap_, size_);
    Replacement<T> made(std::forward<Arguments>(arguments)...);
    building.end();
    made.put_at(data() + index);
  }
  // Moves the elements behind it one place to the front. O(elements behind). Moves as pop_back().
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

  friend bool operator==(const CompactVector& a, const CompactVector& b) {
    if (a.size_ != b.size_) return false;
    const T* const left = a.data();
    const T* const right = b.data();
    for (std::size_t i = 0; i != a.size_; ++i)
      if (!(left[i] == right[i])) return false;
    return true;
  }

 private:
  using Object = std::remove_cv_t<T>;

  static constexpr std::size_t most_elements() { return static_cast<std::size_t>(-1) / 2 / sizeof(T); }

  // The block that is to take the elements; afterwards the block in which they were. Freed at the end of the function.
  struct Room {
    explicit Room(CompactHeap& owner) noexcept : heap(owner) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() {
      if (block) heap.deallocate(block);
    }
    CompactHeap& heap;
    Handle<> block;
  };
  // New elements that the vector does not own yet; destroyed unless it takes them over.
  struct Made {
    Made(CompactHeap& owner, Handle<T> of, std::size_t index) noexcept
        : heap(owner), handle(of), first(index), last(index) {}
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made() { end_elements(heap, handle, first, last); }
    CompactHeap& heap;
    Handle<T> handle;
    std::size_t first, last;
  };

  static Object* place(CompactHeap& heap, Handle<T> handle, std::size_t index) noexcept {
    return const_cast<Object*>(heap.get(handle) + index);
  }

  // Takes a block for so many more elements, if there is no room for them.
  void make_room(std::size_t count, Room& room) {
    if (count <= capacity_ - size_) return;
    if (count > most_elements()) throw_out_of_memory();
    const std::size_t grown = capacity_ + capacity_ / 2;
    take_block(grown < size_ + count ? size_ + count : grown, room);
  }
  void take_block(std::size_t capacity, Room& room) {
    static_assert(
        kMovedAsBytes<T>,
        "a CompactVector moves its elements by copying their bytes: specialise snug::kTriviallyRelocatable<T> "
        "if T allows that, else hold Handle<T>");
    if (capacity > most_elements()) throw_out_of_memory();
    room.block = heap_->allocate(capacity * sizeof(T), alignof(T));
  }
  // Moves the elements to the room's block, if it has one.
  void move_into(Room& room) noexcept {
    if (!room.block) return;
    const Handle<T> grown(room.block.word());
    if (size_ != 0)
      std::memcpy(static_cast<void*>(place(*heap_, grown, 0)), static_cast<const void*>(data()), size_ * sizeof(T));
    room.block = handle_;
    handle_ = grown;
    capacity_ = heap_->usable_size(grown) / sizeof(T);
  }
  // make(add) calls add() with the constructor arguments of the next element.
  template <class Make>
  void grow(std::size_t count, Make make) {
    Room room(*heap_);
    make_room(count, room);
    move_into(room);
    Made made(*heap_, handle_, size_);
    Building building(*heap_, size_);
    Object* next = count != 0 ? place(*heap_, handle_, size_) : nullptr;
    for (; count != 0; --count, ++made.last)
      make([&](const auto&... from) {
        if constexpr (std::is_trivially_copyable_v<T>) {
          ::new (static_cast<void*>(next++)) Object(from...);
        } else {
          // While the members of one that throws are destroyed, its place may be moved.
          Replacement<Object> one(from...);
          one.move_to(place(made.heap, made.handle, made.last));
        }
      });
    building.end();
    made.first = size_ = made.last;
  }
  void shrink(std::size_t size) noexcept {
    const std::size_t had = size_;
    size_ = size;
    end_elements(*heap_, handle_, size, had);
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
  // Each element may free blocks, which may move the next one.
  static void end_elements(CompactHeap& heap, Handle<T> handle, std::size_t first, std::size_t last) noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (; first != last; ++first) const TakenOut<Object> taken(place(heap, handle, first));
  }
  static void end(CompactHeap& heap, Handle<T> handle, std::size_t first, std::size_t last) noexcept {
    end_elements(heap, handle, first, last);
    if (handle) heap.deallocate(handle);
  }

  CompactHeap* heap_;
  Handle<T> handle_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

template <class T>
inline constexpr bool kTriviallyRelocatable<CompactVector<T>> = true;

}  // namespace snug
