// Warm memory: pages that the machine has just used. Where a hypervisor takes free memory away from its guests (free
// page reporting), the first touch of a page that has lain free costs twenty times what it costs a moment later; and
// a program that asks for huge pages gets such pages first. So that no run pays for its place in the order, memory is
// touched and freed before it.
#pragma once

#include <cstdint>

namespace snug::tool {

// Touches that much memory in a process of its own, which then ends. False if that process could not be had, or the OS
// refused it the memory. Seconds for each GiB where the memory was cold, a tenth of one where it was not.
bool warm_memory(std::uint64_t bytes);

}  // namespace snug::tool
