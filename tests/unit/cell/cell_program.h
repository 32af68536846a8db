// A program of operations on a cell heap, beside a reference that knows each block's place, length and content. After
// each step the heap's check() is asked, its walk is held against the reference, and every block that the step may have
// harmed has its content. For RapidCheck, which makes and shrinks programs, and for libFuzzer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "snug/cell_heap.h"

namespace snug::unit {

// One operation in four bytes, so that any bytes are a program.
struct CellStep {
  uint8_t kind;
  uint8_t which;
  uint16_t amount;
};

// A page source that is at times exhausted; the program counts its pages.
struct CountedPages {
  static constexpr size_t kPageBytes = 8192;
  static inline size_t taken = 0;
  static inline size_t most = 24;

  static void* take(size_t bytes) {
    if (taken >= most || bytes > (size_t{1} << 20)) return nullptr;
    ++taken;
    return ::operator new(bytes, std::align_val_t{64});
  }
  static void give(void* page, size_t) {
    --taken;
    ::operator delete(page, std::align_val_t{64});
  }
};

template <class Policy>
class CellProgram {
 public:
  using Heap = CellHeap<Policy>;

  CellProgram() { CountedPages::taken = 0; }
  // What is live at the end goes back too: the heap must be whole again.
  ~CellProgram() = default;

  // Empty, or what is wrong.
  std::string run(const std::vector<CellStep>& steps) {
    if constexpr (Policy::Pages::kPageBytes == 0) add_region(5000);
    for (size_t i = 0; i < steps.size(); ++i) {
      take_step(steps[i]);
      if (wrong_.empty()) compare();
      if (!wrong_.empty()) return "step " + std::to_string(i) + ": " + wrong_;
    }
    while (!blocks_.empty() && wrong_.empty()) release(blocks_.begin());
    if (wrong_.empty()) compare();
    if (wrong_.empty()) expect_whole();
    return wrong_;
  }

 private:
  struct Block {
    size_t bytes;
    uint8_t seed;
  };
  using Blocks = std::map<uintptr_t, Block>;

  static size_t length(uint16_t amount) {
    // Mostly short, some as long as a region, a few absurd.
    if (amount % 64 == 63) return Heap::kLargestRequest - amount / 64;
    return amount % 8 == 7 ? amount : amount % 257;
  }

  void take_step(CellStep step) {
    switch (step.kind % 8) {
      case 0:
      case 1:
      case 2:
        add(heap_->allocate(length(step.amount)), length(step.amount), Heap::kAlignment, step.which);
        break;
      case 3: {
        const size_t alignment = size_t{1} << step.which % 11;
        const size_t bytes = step.amount % 700;
        add(heap_->allocate_aligned(alignment, bytes), bytes, std::max(alignment, Heap::kAlignment), step.which);
        break;
      }
      case 4:
      case 5:
        if (!blocks_.empty()) release(pick(step.which));
        break;
      case 6:
        if (!blocks_.empty()) resize(pick(step.which), length(step.amount));
        break;
      default:
        if constexpr (Policy::Pages::kPageBytes == 0) {
          if (step.which % 16 == 0 && regions_.size() < 6) add_region(200 + step.amount % 6000);
        } else {
          heap_->release_unused();
        }
    }
  }

  typename Blocks::iterator pick(uint8_t which) {
    return std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(which % blocks_.size()));
  }

  void add_region(size_t bytes) {
    regions_.push_back(std::make_unique<char[]>(bytes + 1));
    // Odd starts too.
    if (heap_->add_region(regions_.back().get() + bytes % 2, bytes) != nullptr) wrong_ = "a region was refused";
  }

  void add(void* block, size_t bytes, size_t alignment, uint8_t seed) {
    if (block == nullptr) return;
    const auto address = reinterpret_cast<uintptr_t>(block);
    if (address % alignment != 0) wrong_ = "a block is not aligned";
    if (Heap::usable_size(block) < bytes) wrong_ = "a block is too short";
    const auto after = blocks_.lower_bound(address);
    if (after != blocks_.end() && after->first < address + bytes) wrong_ = "blocks overlap";
    if (after != blocks_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > address)
      wrong_ = "blocks overlap";
    if (!wrong_.empty()) return;
    // All that may be written is.
    const size_t usable = Heap::usable_size(block);
    std::memset(block, seed, usable);
    blocks_[address] = {usable, seed};
  }

  bool holds(uintptr_t address, size_t bytes, uint8_t seed) {
    const auto* const content = reinterpret_cast<const uint8_t*>(address);
    for (size_t i = 0; i < bytes; ++i)
      if (content[i] != seed) return false;
    return true;
  }

  void release(typename Blocks::iterator block) {
    if (!holds(block->first, block->second.bytes, block->second.seed)) wrong_ = "a block was damaged";
    heap_->deallocate(reinterpret_cast<void*>(block->first));
    blocks_.erase(block);
  }

  void resize(typename Blocks::iterator block, size_t bytes) {
    const Block old = block->second;
    const auto address = block->first;
    void* const resized = heap_->resize(reinterpret_cast<void*>(address), bytes);
    if (resized == nullptr) {
      if (!holds(address, old.bytes, old.seed)) wrong_ = "a failed resize has damaged the block";
      return;
    }
    blocks_.erase(block);
    if (!holds(reinterpret_cast<uintptr_t>(resized), std::min(old.bytes, bytes), old.seed))
      wrong_ = "a resize has lost content";
    add(resized, bytes, Heap::kAlignment, old.seed);
  }

  void compare() {
    if (const char* const broken = heap_->check()) {
      wrong_ = broken;
      return;
    }
    auto expected = blocks_.begin();
    std::map<uintptr_t, size_t> found;
    heap_->walk([&](const CellView& cell) {
      if (cell.use == CellUse::kUsed) found[reinterpret_cast<uintptr_t>(cell.block)] = cell.bytes;
    });
    for (const auto& [address, bytes] : found) {
      if (expected == blocks_.end() || expected->first != address || expected->second.bytes > bytes) {
        wrong_ = "the used cells are not the live blocks";
        return;
      }
      if (!holds(address, std::min<size_t>(expected->second.bytes, 64), expected->second.seed))
        wrong_ = "a live block was damaged";
      ++expected;
    }
    if (expected != blocks_.end()) wrong_ = "a live block is no used cell";
    const CellStatistics now = heap_->statistics();
    if (now.cells_used != blocks_.size() || now.bytes_free + now.bytes_used != now.bytes_total)
      wrong_ = "the statistics do not add up";
    if constexpr (Policy::Pages::kPageBytes != 0) {
      if (now.regions != CountedPages::taken) wrong_ = "a page is lost";
    }
  }

  void expect_whole() {
    heap_->release_unused();
    const CellStatistics now = heap_->statistics();
    if (now.cells_used != 0 || now.bytes_free != now.bytes_total) wrong_ = "a cell is lost";
    if (!Policy::Trailer::kMergesBackward) return;
    if (now.cells_free != now.regions) wrong_ = "freed cells have not merged";
    if (Policy::Pages::kPageBytes != 0 && now.regions != 0) wrong_ = "an empty page has stayed";
    heap_.reset();
    if (Policy::Pages::kPageBytes != 0 && CountedPages::taken != 0) wrong_ = "the heap's end has lost a page";
  }

  std::unique_ptr<Heap> heap_ = std::make_unique<Heap>();
  std::vector<std::unique_ptr<char[]>> regions_;
  Blocks blocks_;
  std::string wrong_;
};

// The combinations that differ in what the code does.
struct ScanCells : CellPolicy {
  using Fit = RovingScan;
};
struct ScanEverywhere : ScanCells {
  using Trailer = TrailerAlways;
};
struct DoublingCells : CellPolicy {
  using Fit = PowerOfTwoBins;
};
struct DoublingEverywhere : DoublingCells {
  using Trailer = TrailerAlways;
};
struct TwoLevelEverywhere : CellPolicy {
  using Trailer = TrailerAlways;
};
struct NarrowCells : CellPolicy {
  static constexpr size_t kAlignment = 8;
};
struct NarrowEverywhere : TwoLevelEverywhere {
  static constexpr size_t kAlignment = 8;
};
struct TrailerlessCells : CellPolicy {
  using Trailer = TrailerNever;
};
struct TrailerlessScan : ScanCells {
  using Trailer = TrailerNever;
};
struct WalkedCells : DebugCellPolicy {};
struct KeptPages : CellPolicy {
  using Pages = CountedPages;
};
struct ThresholdPages : KeptPages {
  using Retention = RetentionThreshold;
};
struct ThresholdEverywhere : DoublingEverywhere {
  using Pages = CountedPages;
  using Retention = RetentionThreshold;
};
struct ThresholdScan : ScanEverywhere {
  using Pages = CountedPages;
  using Retention = RetentionThreshold;
};

}  // namespace snug::unit
