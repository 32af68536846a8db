// ScarceHeap: a compacting heap of any sharing that is refused memory, beside what the test knows of its blocks. Blocks
// are looked at where their handles lead, so that a look calls no move off.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "compact/compact_fit.h"
#include "compact/core_heaps.h"

namespace snug::unit {

class ScarceHeap {
 public:
  static constexpr size_t kCores = 2;
  static constexpr size_t kIncrement = 100;
  static constexpr size_t kKind = 96;  // bytes of a block that a function moves
  using Totals = BlockPages::Totals;

  // With `handles`, the table of handles lies in memory as well.
  ScarceHeap(Sharing sharing, const PageSource& source, size_t handles = 0) {
    core_now = 0;
    if (sharing == Sharing::kCores) {
      cores_.emplace(kFineMap, source, uint16_t{0}, [] { return core_now; });
      EXPECT_TRUE(cores_->open(kCores, HandleTable::kStep));
    } else {
      one_.emplace(kFineMap, source, uint16_t{0}, sharing);
      table_.resize(handles == 0 ? 0 : HandleTable::bytes_for(handles) / sizeof(uint64_t));
      if (handles != 0) {
        one_->handles().open(table_.data(), handles);
      } else {
        EXPECT_TRUE(one_->handles().open(HandleTable::kMostSlots));
      }
    }
    with([](auto& heap) { heap.set_increment(kIncrement); });
  }
  ~ScarceHeap() {
    expect_sound();
    with([](auto& heap) { heap.close(); });
  }
  ScarceHeap(const ScarceHeap&) = delete;
  ScarceHeap& operator=(const ScarceHeap&) = delete;

  // On which core the thread runs.
  static inline size_t core_now = 0;
  size_t heaps() const { return cores_ ? kCores : 1; }
  bool is_shared() const { return cores_ || one_->is_shared(); }

  // 0: it was refused, and all is as it was.
  HandleWord allocate(size_t bytes) {
    return note(with([=](auto& heap) { return heap.allocate(bytes, 1); }), bytes);
  }
  HandleWord allocate_kind() {
    return note(with([](auto& heap) { return heap.allocate(kKind, 1, &move_bytes); }), kKind);
  }
  // So many, one core's after the other's; fewer only if some are refused.
  std::vector<HandleWord> fill(size_t count, size_t bytes) {
    std::vector<HandleWord> handles;
    for (size_t i = 0; i < count; ++i) {
      core_now = i % kCores;
      const HandleWord handle = allocate(bytes);
      if (handle == 0) break;
      handles.push_back(handle);
    }
    return handles;
  }
  void free(HandleWord handle) {
    of(handle).free(handle);
    EXPECT_EQ(of(handle).find(handle), nullptr);
    live_.erase(handle);
  }
  bool resize(HandleWord handle, size_t bytes) {
    Known& block = live_.at(handle);
    if (!of(handle).resize(handle, bytes, 1)) return false;
    block.bytes = std::min(block.bytes, bytes);
    expect_content(handle, block);
    block.bytes = bytes;
    write(handle, block);
    return true;
  }
  void pin(HandleWord handle) {
    Known& block = live_.at(handle);
    block.pinned_at = of(handle).pin(handle);
    ASSERT_NE(block.pinned_at, nullptr);
    ++block.pins;
  }
  void unpin(HandleWord handle) {
    of(handle).unpin(handle);
    --live_.at(handle).pins;
  }
  // With a budget of so many bytes (0: none). True if something is left to do.
  bool step(size_t bytes) {
    CompactBudget budget(0, bytes);
    return with([&](auto& heap) { return heap.step(budget); });
  }
  // A block of which a part is copied; 0 if nothing is left to move.
  HandleWord begin_move() {
    for (HandleWord handle = moving();; handle = moving())
      if (handle != 0 || !step(kIncrement)) return handle;
  }
  // A block on its way; 0: there is none.
  HandleWord moving() {
    for (const auto& [handle, block] : live_)
      if (of(handle).handles().is_moving(of(handle).handles().slot(handle))) return handle;
    return 0;
  }
  // One at rest that is so long.
  HandleWord other_than(HandleWord moving, size_t bytes) const {
    for (const auto& [handle, block] : live_)
      if (handle != moving && block.bytes == bytes && block.pins == 0) return handle;
    return 0;
  }
  // Null: there is no memory.
  CompactFit::Reader* open_reader() { return cores_ ? cores_->first().open_reader() : one_->open_reader(); }
  void set_bound(size_t bound) {
    bound_ = bound;
    with([=](auto& heap) { heap.set_bound(bound); });
  }
  bool set_bound_of(size_t bytes, size_t bound) {
    return with([=](auto& heap) { return heap.set_bound_of(bytes, bound); });
  }

  Totals totals() {
    return with([](auto& heap) { return heap.totals().pages; });
  }
  // Of the class that serves so many bytes.
  Totals totals_of(size_t bytes) {
    CompactFit::Totals totals;
    with([&](auto& heap) { return heap.totals_of(bytes, totals); });
    return totals.pages;
  }
  char* place(HandleWord handle) { return of(handle).handles().address(of(handle).handles().slot(handle)); }
  uintptr_t page(HandleWord handle) { return round_down(address_of(place(handle)), kPageSize); }
  // By the pages of 16 KiB in which the blocks of one length begin.
  std::map<uintptr_t, std::vector<HandleWord>> by_page(size_t bytes) {
    std::map<uintptr_t, std::vector<HandleWord>> pages;
    for (const auto& [handle, block] : live_)
      if (block.bytes == bytes) pages[page(handle)].push_back(handle);
    return pages;
  }
  std::vector<HandleWord> handles() const {
    std::vector<HandleWord> handles;
    for (const auto& [handle, block] : live_) handles.push_back(handle);
    return handles;
  }
  size_t pins_of(HandleWord handle) const { return live_.at(handle).pins; }

  // Every block is where it should be, holds what it should, and the bound is kept.
  void expect_sound() {
    const char* const broken = with([](auto& heap) { return heap.check(); });
    EXPECT_EQ(broken, nullptr) << broken;
    const Totals now = totals();
    EXPECT_EQ(now.blocks, live_.size());
    EXPECT_LE(now.bytes_free, now.bytes_bound);
    size_t pins = 0;
    std::set<uintptr_t> pinned_pages;
    for (const auto& [handle, block] : live_) {
      expect_content(handle, block);
      pins += block.pins;
      if (block.pins == 0) continue;
      EXPECT_EQ(place(handle), block.pinned_at);
      pinned_pages.insert(page(handle));
    }
    EXPECT_EQ(now.pins, pins);
    EXPECT_LE(now.rows_held, pinned_pages.size());
  }
  // Of one class, while no other class has pages in use.
  void expect_bound_of(size_t bytes) {
    const Totals now = totals_of(bytes);
    EXPECT_LE(now.rows_open, bound_ * heaps() + now.moves_under_way);
  }

 private:
  struct Known {
    size_t bytes = 0;
    unsigned char content = 0;
    size_t pins = 0;
    char* pinned_at = nullptr;
  };

  static void move_bytes(void* from, void* to) { std::memcpy(to, from, kKind); }

  template <class Use>
  std::invoke_result_t<Use, CompactFit&> with(Use use) {
    return cores_ ? use(*cores_) : use(*one_);
  }
  CompactFit& of(HandleWord handle) { return cores_ ? cores_->heap_of(handle) : *one_; }
  HandleWord note(HandleWord handle, size_t bytes) {
    if (handle == 0) return 0;
    EXPECT_FALSE(live_.contains(handle));
    write(handle, live_[handle] = {bytes, static_cast<unsigned char>(++number_), 0, nullptr});
    return handle;
  }
  // What is written to a block on its way would be lost: this look-up calls the move off.
  void write(HandleWord handle, const Known& block) {
    std::memset(of(handle).find(handle), block.content, block.bytes);
  }
  // All its bytes are one.
  void expect_content(HandleWord handle, const Known& block) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(place(handle));
    ASSERT_NE(bytes, nullptr);
    EXPECT_EQ(bytes[0], block.content);
    EXPECT_EQ(std::memcmp(bytes, bytes + 1, block.bytes - 1), 0) << "its contents are mixed";
  }

  std::optional<CompactFit> one_;
  std::optional<CoreHeaps> cores_;
  std::vector<uint64_t> table_;
  std::map<HandleWord, Known> live_;
  size_t bound_ = 1;
  unsigned number_ = 0;
};

inline std::string name_of(Sharing sharing) {
  constexpr const char* kNames[] = {"OneThread", "OneLock", "ClassLocks", "Cores"};
  return kNames[static_cast<size_t>(sharing)];
}

}  // namespace snug::unit
