// EarlyBlocks: what a process allocates before there is an allocator to watch: in resolvers of indirect functions,
// which the dynamic linker calls before this library's own addresses are set, and while it looks the allocator up.
// Blocks are cut from one array, each behind a word with its size, and are never used again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace snug::recorder {

class EarlyBlocks {
 public:
  // A zeroed block. Null if there is no room.
  void* allocate(std::size_t bytes, std::size_t alignment = kAlignment) {
    if (alignment < kAlignment) alignment = kAlignment;
    if (bytes > kBytes || alignment > kBytes) return nullptr;
    const std::size_t wanted = (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment + alignment;
    const std::size_t from = used_.fetch_add(wanted, std::memory_order_relaxed);
    if (from + wanted > kBytes) return nullptr;
    const auto low = reinterpret_cast<std::uintptr_t>(memory_ + from + kAlignment);
    auto* const block = reinterpret_cast<std::byte*>((low + alignment - 1) / alignment * alignment);
    size_word(block) = bytes;
    const std::size_t place = count_.fetch_add(1, std::memory_order_relaxed);
    if (place < kListed) listed_[place] = block;
    return block;
  }

  bool owns(const void* block) const {
    return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(memory_) < kBytes;
  }
  std::size_t size_of(void* block) const { return size_word(block) & ~kFreed; }
  void free(void* block) { size_word(block) |= kFreed; }

  // Visits the live blocks that are listed.
  template <class Visit>
  void each(Visit visit) const {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count && i < kListed; ++i)
      if ((size_word(listed_[i]) & kFreed) == 0) visit(listed_[i], size_of(listed_[i]));
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{256} << 10;
  static constexpr std::size_t kAlignment = 16;
  static constexpr std::size_t kListed = 1024;
  static constexpr std::size_t kFreed = std::size_t{1} << 63;

  static std::size_t& size_word(void* block) { return static_cast<std::size_t*>(block)[-1]; }

  std::atomic<std::size_t> used_ = 0;
  std::atomic<std::size_t> count_ = 0;
  void* listed_[kListed] = {};
  alignas(4096) std::byte memory_[kBytes] = {};
};

}  // namespace snug::recorder
