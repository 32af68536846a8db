// How addresses in an ELF file's table of symbols lie beside offsets in the file.
#pragma once

#include <cstdint>
#include <string>

namespace snug::tool {

// What the address of the byte at that offset is less the offset; 0 if the file cannot be read, or does not load it.
std::uint64_t symbol_bias(const std::string& path, std::uint64_t offset);

}  // namespace snug::tool
