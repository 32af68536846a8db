#include "library/symbol_bias.h"

#include <cstring>

#include "library/elf_file.h"
#include "text/user_error.h"

namespace snug::tool {

std::uint64_t symbol_bias(const std::string& path, std::uint64_t offset) {
  try {
    const FileBytes file(path);
    const auto header = file.read<Elf64_Ehdr>(0, "the header");
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    for (std::uint64_t i = 0; i != header.e_phnum; ++i) {
      const auto segment = file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr), "the segments");
      if (segment.p_type == PT_LOAD && segment.p_offset <= offset && offset - segment.p_offset < segment.p_filesz)
        return segment.p_vaddr - segment.p_offset;
    }
  } catch (const UserError&) {
  }
  return 0;
}

}  // namespace snug::tool
