// Pinned: a block of a compacting heap that stays where it is.
#pragma once

#include "snug/base/cpp20.h"

#include <type_traits>
#include <utility>

#include "snug/compact/basic_compact_heap.h"
#include "snug/compact/handle.h"
#include "snug/compact_heap_c.h"

namespace snug {

// An object that stays where it is. Its page takes no part in compaction meanwhile; destroy the object afterwards.
template <class T>
class Pinned {
 public:
  Pinned() noexcept = default;
  Pinned(Pinned&& other) noexcept { swap(other); }
  Pinned& operator=(Pinned&& other) noexcept {
    Pinned(std::move(other)).swap(*this);
    return *this;
  }
  ~Pinned() { reset(); }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept
    requires(!std::is_void_v<T>)
  {
    return *object_;
  }
  T* operator->() const noexcept { return object_; }
  Handle<T> handle() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

  // Unpins the object, and makes the moves that the pin has held up. Moves.
  void reset() noexcept {
    if (object_ == nullptr) return;
    heap_->expect_no_section("unpin");
    object_ = nullptr;
    snug_compact_unpin(heap_->heap_, handle_.word());
  }
  void swap(Pinned& other) noexcept {
    std::swap(heap_, other.heap_);
    std::swap(handle_, other.handle_);
    std::swap(object_, other.object_);
  }

 private:
  friend class CompactHeap;
  Pinned(CompactHeap& heap, Handle<T> handle) noexcept
      : heap_(&heap), handle_(handle), object_(static_cast<T*>(snug_compact_pin(heap.heap_, handle.word()))) {}

  CompactHeap* heap_ = nullptr;
  Handle<T> handle_;
  T* object_ = nullptr;
};

template <class T>
Pinned<T> CompactHeap::pin(Handle<T> object) noexcept {
  return Pinned<T>(*this, object);
}

}  // namespace snug
