#include "library/build_id.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "library/elf_file.h"
#include "library/elf_notes.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

// As much of the part as there is.
std::span<const unsigned char> part_of(std::span<const unsigned char> bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size()) return {};
  return bytes.subspan(offset, std::min<std::uint64_t>(size, bytes.size() - offset));
}

template <class T>
bool read(std::span<const unsigned char> bytes, std::uint64_t offset, T& value) {
  const std::span<const unsigned char> part = part_of(bytes, offset, sizeof value);
  if (part.size() == sizeof value) std::memcpy(&value, part.data(), sizeof value);
  return part.size() == sizeof value;
}

}  // namespace

std::string build_id_of(const std::string& path) {
  try {
    return build_id_in(FileBytes(path).all());
  } catch (const UserError&) {
    return {};
  }
}

std::string build_id_in(std::span<const unsigned char> beginning) {
  Elf64_Ehdr header{};
  if (!read(beginning, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  Elf64_Phdr one{};
  for (std::uint64_t i = 0; i != header.e_phnum && read(beginning, header.e_phoff + i * sizeof one, one); ++i) {
    if (one.p_type != PT_NOTE) continue;
    std::span<const unsigned char> notes = part_of(beginning, one.p_offset, one.p_filesz);
    while (const auto note = take_note(notes))
      if (note->type == NT_GNU_BUILD_ID && note->name == ELF_NOTE_GNU)
        return {note->content.begin(), note->content.end()};
  }
  return {};
}

}  // namespace snug::tool
