// SlotTable: the blocks of a trace that live, each with the slot of the stage where the replayer keeps its address, its
// size, and the thread that used it last. Slots are used again, so that those in use lie near each other:
//
//   slots in use + free ones == slots_used()
//
// A slot knows how its block is allocated in the replay, as its *form*: the mark of its alignment (replay/stage.h),
// or kUntold if what a sized or an aligned free says of it need not be so.
//
// A slot that a thread has freed is its own until the window ends: no other thread need wait for that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "record/block_table.h"
#include "trace/block_id.h"

namespace snug::tool {

// The first `commands` of a run of a window: what is to be done before another thread may use the block.
struct SlotUse {
  std::uint32_t window = 0;
  std::uint32_t run = 0;
  std::uint32_t commands = 0;
};

class SlotTable {
 public:
  // Slots that one thread has freed in the window.
  using FreedSlots = std::vector<std::uint32_t>;

  static constexpr std::uint8_t kUntold = UINT8_MAX;

  // The slot of a block that lives.
  std::optional<std::uint32_t> find(trace::BlockId block) const;
  std::uint32_t add(trace::BlockId block, std::uint64_t size, std::uint8_t form, FreedSlots& own);
  void remove(trace::BlockId block, FreedSlots& own);
  // By a reallocation: the block goes, another one is in its slot, with no alignment of its own.
  void replace(trace::BlockId block, trace::BlockId result, std::uint64_t size);
  // At the window's end.
  void take_back(FreedSlots& freed);

  // Bytes that may be written: fewer than the size where a reallocation that had failed succeeds now.
  std::uint64_t& writable(std::uint32_t slot) { return slots_[slot].writable; }
  std::uint64_t size_in(std::uint32_t slot) const { return slots_[slot].size; }
  std::uint8_t& form(std::uint32_t slot) { return slots_[slot].form; }
  SlotUse& last_use(std::uint32_t slot) { return slots_[slot].last_use; }

  std::uint32_t slots_used() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::size_t live_blocks() const { return blocks_.size(); }
  std::uint64_t live_bytes() const { return live_bytes_; }

 private:
  struct Slot {
    std::uint64_t size = 0;
    std::uint64_t writable = 0;
    SlotUse last_use;
    std::uint8_t form = kUntold;
  };

  BlockTable blocks_;  // from a block's identity to its slot, one more
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace snug::tool
