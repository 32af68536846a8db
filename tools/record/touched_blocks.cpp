#include "record/touched_blocks.h"

#include <algorithm>

namespace snug::tool {

using recorder::kPageBytes;
using trace::BlockId;

namespace {

// Of one block, in a look: 16 GiB of addresses, 32 MiB of the kernel's words. What lies behind is taken for untouched.
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 22;

std::uint64_t pages_of(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t pages = (address + size - 1) / kPageBytes + 1 - address / kPageBytes;
  return std::min(pages, kMostPages);
}

}  // namespace

void PageSet::add(std::uint64_t page) {
  if (page / 64 >= words_.size()) words_.resize(page / 64 + 1);
  words_[page / 64] |= std::uint64_t{1} << page % 64;
}

void TouchedBlocks::note(std::uint64_t address, BlockId block, std::uint64_t size, const BlockTable& live) {
  if (size < recorder::kLeastLookedAt || block == BlockId::kNone || address + size < address) return;
  if (blocks_.size() >= worth_dropping_) drop_gone(live);
  blocks_[address] = {.block = block, .size = size, .told = {}, .seen = {}};
}

void TouchedBlocks::drop_gone(const BlockTable& live) {
  std::erase_if(blocks_, [&](const auto& entry) { return live.find(entry.first) != entry.second.block; });
  worth_dropping_ = std::max(kFewest, 2 * blocks_.size());
}

void TouchedBlocks::add(std::uint64_t address, std::uint64_t pages, const BlockTable& live, const Tell& tell) {
  auto at = blocks_.upper_bound(address);
  if (at == blocks_.begin()) return;
  auto& [begin, block] = *--at;
  const std::uint64_t first = address / kPageBytes - begin / kPageBytes;
  if (live.find(begin) != block.block) return;
  block.was_seen = true;
  const std::uint64_t end = pages_of(begin, block.size);
  for (std::uint64_t page = first; page < std::min(first + 64, end); ++page)
    if ((pages >> (page - first) & 1) != 0) block.seen.add(page);
  tell_new(begin, block, tell);
}

bool TouchedBlocks::look(const BlockTable& live) {
  drop_gone(live);
  const PageMap map(static_cast<pid_t>(ring_.process));
  if (!map.is_open()) return false;
  for (auto& [address, block] : blocks_) block.is_seen_now = look_at(map, address, block);
  return true;
}

bool TouchedBlocks::look_at(const PageMap& map, std::uint64_t address, Block& block) const {
  const bool has_forked = ring_.has_forked.load(std::memory_order_relaxed);
  const auto see = [&](std::uint64_t page, std::uint64_t word) {
    if (recorder::is_touched(word, has_forked)) block.seen.add(page);
  };
  return map.read(address / kPageBytes, pages_of(address, block.size), see) != 0;
}

void TouchedBlocks::tell_seen(const BlockTable& live, const Tell& tell) {
  drop_gone(live);
  if (blocks_.empty()) return;
  const PageMap map(static_cast<pid_t>(ring_.process));
  for (auto& [address, block] : blocks_) {
    const bool is_seen = block.is_seen_now || look_at(map, address, block);
    block.is_seen_now = false;
    if (!is_seen) continue;
    block.was_seen = true;
    tell_new(address, block, tell);
  }
}

void TouchedBlocks::tell_never_seen(const BlockTable& live, const Tell& tell) {
  drop_gone(live);
  for (const auto& [address, block] : blocks_)
    if (!block.was_seen) tell(block.block, {.from = 0, .size = block.size});
}

// Neighbouring pages at once, as bytes of the block.
void TouchedBlocks::tell_new(std::uint64_t address, Block& block, const Tell& tell) {
  const std::uint64_t before = address % kPageBytes;  // of the first page
  const auto is_new = [&](std::uint64_t page) { return block.seen.contains(page) && !block.told.contains(page); };
  for (std::uint64_t page = 0; page < block.seen.end(); ++page) {
    if (!is_new(page)) continue;
    const std::uint64_t first = page;
    for (; is_new(page); ++page) block.told.add(page);
    const std::uint64_t from = first == 0 ? 0 : first * kPageBytes - before;
    tell(block.block, {.from = from, .size = std::min(page * kPageBytes - before, block.size) - from});
  }
  block.seen = {};
}

}  // namespace snug::tool
