// The notes of an ELF file: of a program's segment, or of a core's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace snug::tool {

struct ElfNote {
  std::uint32_t type;
  std::string_view name;
  std::span<const unsigned char> content;
};

// Takes the first of the notes away; nothing if none is left, or if it is cut off. The bytes may be hostile. O(1).
std::optional<ElfNote> take_note(std::span<const unsigned char>& notes);

}  // namespace snug::tool
