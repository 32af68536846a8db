// BlockId: the identity of a block in a trace. It stands for one allocation and is never used again, unlike an address:
//
//   id == thread << 40 | number,    the number-th block that this thread was given, from 1
//
// so that a thread names its blocks without synchronisation, and the id of a freed block shows the thread that
// allocated it. 0 is no block (a null pointer). Thread 0 allocates nothing: its numbers are those of blocks that
// existed before the recording.
#pragma once

#include <cstdint>

namespace snug::trace {

enum class BlockId : std::uint64_t { kNone = 0 };

inline constexpr unsigned kNumberBits = 40;
inline constexpr std::uint64_t kMostNumber = (std::uint64_t{1} << kNumberBits) - 1;
inline constexpr std::uint32_t kMostThread = (std::uint32_t{1} << (64 - kNumberBits)) - 1;

constexpr BlockId block_id(std::uint32_t thread, std::uint64_t number) {
  return BlockId{std::uint64_t{thread} << kNumberBits | number};
}
constexpr std::uint32_t thread_of(BlockId block) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(block) >> kNumberBits);
}
constexpr std::uint64_t number_of(BlockId block) { return static_cast<std::uint64_t>(block) & kMostNumber; }

}  // namespace snug::trace
