// Building: the section in which a container of a compacting heap makes its elements.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <cstdint>

#include "snug/compact/basic_compact_heap.h"
#include "snug/compact/misuse.h"

namespace snug {

// The container may lie in a block itself, so a constructor that frees blocks could move the container away. Only one
// that throws may free: the blocks of the members that it has made go, and the container is not read any more. Nor may
// one put elements into the container: the place of its own is chosen already.
class Building {
 public:
  // `size` is the container's.
  Building(CompactHeap& heap, const std::size_t& size) noexcept
      : heap_(heap), size_(size), had_(size), forgiven_(heap.forgiven_) {
    ++heap.sections_;
    ++heap.building_;
  }
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;
  ~Building() {
    if (is_open_) close();
  }
  // Called when all constructors have finished.
  void end() noexcept {
    close();
    if (heap_.forgiven_ != forgiven_) [[unlikely]]
      die_of_compact_misuse("deallocate", heap_.heap_, "the constructor of an element has freed blocks, and gone on");
    if (size_ != had_) [[unlikely]]
      die_of_compact_misuse("Building", heap_.heap_, "the constructor of an element has changed its container");
  }

 private:
  void close() noexcept {
    --heap_.sections_;
    --heap_.building_;
    is_open_ = false;
  }

  CompactHeap& heap_;
  const std::size_t& size_;
  const std::size_t had_;
  const std::uint32_t forgiven_;
  bool is_open_ = true;
};

}  // namespace snug
