#include "recorder/module.h"

#include <elf.h>

#include <cstring>

#include "recorder/libc_features.h"
#include "recorder/mix.h"
#include "recorder/ring.h"

namespace snug::recorder {

namespace {

constexpr std::size_t kNoteAlign = 4;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kNoteAlign - 1) / kNoteAlign * kNoteAlign; }

// Finds the build-id in a file's notes.
void find_build_id(Module& module, const unsigned char* notes, std::size_t bytes) {
  while (bytes >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    memcpy(&note, notes, sizeof note);
    const std::size_t name = aligned(note.n_namesz);
    const std::size_t whole = sizeof note + name + aligned(note.n_descsz);
    if (whole > bytes) return;
    const bool is_build_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
                             memcmp(notes + sizeof note, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0;
    if (is_build_id && note.n_descsz <= kMostBuildId) {
      module.build_id = notes + sizeof note + name;
      module.build_id_bytes = note.n_descsz;
      return;
    }
    notes += whole;
    bytes -= whole;
  }
}

// Reads a file's header and its notes, which as a rule are mapped with it.
void read_header(Module& module) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(module.begin);
  const std::size_t bytes = module.end - module.begin;
  Elf64_Ehdr header;
  if (bytes < sizeof header) return;
  memcpy(&header, begin, sizeof header);
  const bool is_elf = memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(Elf64_Phdr);
  const std::size_t room = bytes - sizeof header;
  if (!is_elf || header.e_phoff > room || header.e_phnum * sizeof(Elf64_Phdr) > room - header.e_phoff) return;
  for (std::size_t i = 0; i < header.e_phnum && module.build_id == nullptr; ++i) {
    Elf64_Phdr part;
    memcpy(&part, begin + header.e_phoff + i * sizeof part, sizeof part);
    const std::uintptr_t at = part.p_vaddr + module.bias - module.begin;
    if (part.p_type == PT_NOTE && at < bytes && part.p_filesz <= bytes - at)
      find_build_id(module, begin + at, part.p_filesz);
  }
}

}  // namespace

bool find_module(const void* address, Module& module) {
  LoadedFile found;
  if (!find_loaded_file(address, found)) return false;
  module = {.begin = reinterpret_cast<std::uintptr_t>(found.begin),
            .end = reinterpret_cast<std::uintptr_t>(found.end),
            .bias = found.file->l_addr,
            .path = found.file->l_name};
  if (module.path == nullptr) module.path = "";
  read_header(module);
  return true;
}

std::uint64_t key_of(const Module& module) {
  std::uint64_t key = mixed(mixed(module.begin) ^ module.end);
  for (std::size_t i = 0; i < module.build_id_bytes; ++i) key = mixed(key ^ module.build_id[i]);
  for (const char* at = module.path; *at != '\0'; ++at) key = mixed(key ^ static_cast<unsigned char>(*at));
  return key;
}

}  // namespace snug::recorder
