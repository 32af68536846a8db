#include "os/code_mappings.h"

#include <elf.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "os/input_file.h"
#include "os/map_line.h"

namespace snug::os {
namespace {

// The memory of the process itself, as a file.
class OwnMemory {
 public:
  bool read(uintptr_t address, void* bytes, size_t count) {
    file_.seek(address);
    return file_.read(bytes, count) == count;
  }

 private:
  InputFile file_{"/proc/thread-self/mem"};
};

// Looks for the note of the build id in a segment of notes; true if it is there.
bool find_note(const unsigned char* notes, size_t bytes, CodeMapping* mapping) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
    Elf64_Nhdr note;
    memcpy(&note, notes + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t description = name + round_up(note.n_namesz, 4);
    if (description > bytes || note.n_descsz > bytes - description) return false;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
      mapping->build_id_bytes = min<size_t>(note.n_descsz, sizeof mapping->build_id);
      memcpy(mapping->build_id, notes + description, mapping->build_id_bytes);
      return true;
    }
    at = description + round_up(note.n_descsz, 4);
  }
  return false;
}

// Reads the build id of the module with the header there.
void read_build_id(uintptr_t header_at, CodeMapping* mapping) {
  OwnMemory memory;
  Elf64_Ehdr header;
  if (!memory.read(header_at, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
    return;
  uintptr_t first = 0;  // the address that the header was linked for
  for (int pass = 0; pass != 2; ++pass)
    for (size_t i = 0; i != min<size_t>(header.e_phnum, 64); ++i) {
      Elf64_Phdr segment;
      if (!memory.read(header_at + header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return;
      if (pass == 0 && segment.p_type == PT_LOAD && segment.p_offset == 0) first = segment.p_vaddr;
      if (pass == 0 || segment.p_type != PT_NOTE) continue;
      unsigned char notes[1024];
      const size_t bytes = min<size_t>(segment.p_filesz, sizeof notes);
      if (memory.read(header_at + segment.p_vaddr - first, notes, bytes) && find_note(notes, bytes, mapping)) return;
    }
}

}  // namespace

void for_each_code_mapping(void (*visit)(void* context, const CodeMapping& mapping), void* context) {
  char path[512] = "";  // of the module that the last line was of
  uintptr_t header = 0;
  for_each_map_line([&](const MapLine& line) {
    if (strncmp(line.path, path, sizeof path - 1) != 0 || line.offset == 0) {
      header = line.is_readable && line.offset == 0 && line.path[0] != 0 ? line.start : 0;
      const size_t length = ::strnlen(line.path, sizeof path - 1);
      memcpy(path, line.path, length);
      path[length] = 0;
    }
    if (!line.is_executable) return false;
    CodeMapping mapping;
    mapping.start = line.start;
    mapping.end = line.end;
    mapping.offset = line.offset;
    mapping.path = line.path;
    if (header != 0 && line.path[0] != '[') read_build_id(header, &mapping);
    visit(context, mapping);
    return false;
  });
}

}  // namespace snug::os
