#include "library/build_id.h"

#include <elf.h>

#include <cstring>

#include "library/elf_file.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::uint64_t kNoteAlign = 4;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kNoteAlign - 1) / kNoteAlign * kNoteAlign; }

std::string build_id_among(const FileBytes& file, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = offset + file.part(offset, bytes, "notes").size();
  while (end - offset >= sizeof(Elf64_Nhdr)) {
    const auto note = file.read<Elf64_Nhdr>(offset, "notes");
    const std::uint64_t text = offset + sizeof note + aligned(note.n_namesz);
    const auto words = file.part(text, note.n_descsz, "notes");
    if (note.n_type == NT_GNU_BUILD_ID && file.text(offset + sizeof note, "notes") == ELF_NOTE_GNU)
      return {words.begin(), words.end()};
    offset = text + aligned(note.n_descsz);
    if (offset > end) break;
  }
  return {};
}

}  // namespace

std::string build_id_of(const std::string& path) {
  try {
    const FileBytes file(path);
    if (!ElfFile::is_elf(file)) return {};
    const auto header = file.read<Elf64_Ehdr>(0, "headers");
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return {};
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
      const auto part = file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr), "headers");
      if (part.p_type != PT_NOTE) continue;
      std::string id = build_id_among(file, part.p_offset, part.p_filesz);
      if (!id.empty()) return id;
    }
  } catch (const UserError&) {  // it is damaged
  }
  return {};
}

}  // namespace snug::tool
