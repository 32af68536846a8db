// The build-id of an ELF file: the note by which a linker says which build it is.
#pragma once

#include <span>
#include <string>

namespace snug::tool {

// Its bytes. Empty if the file cannot be read, is no ELF file of 64 bits, or has none.
std::string build_id_of(const std::string& path);
// The same of what a file begins with, which may be hostile: empty, too, if the note lies behind it.
std::string build_id_in(std::span<const unsigned char> beginning);

}  // namespace snug::tool
