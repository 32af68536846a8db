// kAtATime: how much of what may be much one malloc does, or one hold of a lock, before others have their turn: runs
// and slabs that go to the OS, slabs whose mail is opened, abandoned heaps that are looked at.
#pragma once

#include <cstdint>

namespace snug {

inline constexpr uint32_t kAtATime = 16;

}  // namespace snug
