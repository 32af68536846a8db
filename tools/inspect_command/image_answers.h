// What addresses are in a process that goes on no more, by its memory (inspect_command/memory_image.h) and the
// library's own code: a child of the tool has the memory at the addresses where the process had it, and there asks
// src/allocator/address_description.h of the allocator that it finds.
//
// The memory may be hostile. The child reads it page by page as it comes to it, may make no system calls but those that
// takes, and ends by itself after kMostSeconds of computing. Where the kernel refuses the filter, it reads nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspect_command/memory_image.h"

namespace snug::tool {

// One object (snug.address/1) for each address. Of several allocators one that cannot be asked is passed over, with a
// line on standard error. Throws UserError with one line if none can: there is no heap of snug's in it, it is of
// another build's, a part that is needed is missing, it is damaged, or its addresses or a filter are not to be had
// here.
std::vector<std::string> answers_of(const MemoryImage& image, const std::vector<std::uint64_t>& addresses);

}  // namespace snug::tool
