#include "library/elf_notes.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace snug::tool {

namespace {

std::uint64_t round_up_to_4(std::uint64_t size) { return (size + 3) / 4 * 4; }

}  // namespace

std::optional<ElfNote> take_note(std::span<const unsigned char>& notes) {
  Elf64_Nhdr header{};
  if (notes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, notes.data(), sizeof header);
  const std::uint64_t content = sizeof header + round_up_to_4(header.n_namesz);
  if (content + header.n_descsz > notes.size()) return std::nullopt;
  const std::string_view name(reinterpret_cast<const char*>(notes.data()) + sizeof header, header.n_namesz);
  const ElfNote note = {header.n_type, name.substr(0, name.find('\0')), notes.subspan(content, header.n_descsz)};
  notes = notes.subspan(std::min<std::uint64_t>(content + round_up_to_4(header.n_descsz), notes.size()));
  return note;
}

}  // namespace snug::tool
