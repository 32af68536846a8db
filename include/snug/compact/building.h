// Building: the section in which a container of a compacting heap makes its elements.
#pragma once

#include "snug/base/cpp20.h"

#include <cstdint>

#include "snug/compact/basic_compact_heap.h"
#include "snug/compact/misuse.h"

namespace snug {

// The container may lie in a block itself, so a constructor that frees blocks could move the container away. Only one
// that throws may free: the blocks of the members that it has made go, and the container is not read any more.
class Building {
 public:
  explicit Building(CompactHeap& heap) noexcept : heap_(heap), forgiven_(heap.forgiven_) {
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
  }

 private:
  void close() noexcept {
    --heap_.sections_;
    --heap_.building_;
    is_open_ = false;
  }

  CompactHeap& heap_;
  const std::uint32_t forgiven_;
  bool is_open_ = true;
};

}  // namespace snug
