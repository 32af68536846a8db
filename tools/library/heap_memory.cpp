#include "library/heap_memory.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "library/elf_file.h"
#include "process/page_map.h"
#include "recorder/ring.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uint64_t page_of(std::uint64_t address) { return address / page_bytes() * page_bytes(); }

// How many OS pages of the range are in memory and of no file. Nothing if the kernel does not say: the process has no
// memory any more.
std::optional<std::uint64_t> anonymous_pages(const PageMap& map, std::uint64_t begin, std::uint64_t end,
                                             bool has_forked) {
  const std::uint64_t first = begin / page_bytes();
  const std::uint64_t pages = (end + page_bytes() - 1) / page_bytes() - first;
  std::uint64_t count = 0;
  const std::uint64_t told = map.read(first, pages, [&](std::uint64_t, std::uint64_t word) {
    count += recorder::is_resident(word, has_forked) ? 1 : 0;
  });
  return told == pages ? std::optional(count) : std::nullopt;
}

}  // namespace

std::optional<ResidentMemory> resident_memory_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  std::uint64_t addresses = 0;
  std::uint64_t resident = 0;
  std::uint64_t not_anonymous = 0;
  if (!(file >> addresses >> resident >> not_anonymous) || resident == 0) return std::nullopt;
  return ResidentMemory{.all = resident * page_bytes(),
                        .anonymous = (resident - std::min(resident, not_anonymous)) * page_bytes()};
}

// Where the file's segments that can be written to lie, what they have beyond the file included, if it begins at
// `start`. Not by what the kernel says of mappings: what a segment has beyond the file may be one with the heap there.
const std::vector<HeapMemory::Range>& HeapMemory::data_of(const std::string& path, std::uint64_t start) {
  LoadedFile& loaded = files_[start];
  if (loaded.path == path) return loaded.data;
  loaded = {.path = path, .data = {}};
  try {
    const FileBytes file(path);
    if (!ElfFile::is_elf(file)) return loaded.data;
    const auto header = file.read<Elf64_Ehdr>(0, "headers");
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return loaded.data;
    std::optional<std::uint64_t> first;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
      const auto part = file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr), "headers");
      if (part.p_type != PT_LOAD) continue;
      if (!first) first = page_of(part.p_vaddr);
      if ((part.p_flags & PF_W) == 0) continue;
      const std::uint64_t begin = start - *first + part.p_vaddr;
      loaded.data.push_back({page_of(begin), page_of(begin + part.p_memsz + page_bytes() - 1)});
    }
  } catch (const UserError&) {  // it is not there any more, or seen from elsewhere only
  }
  return loaded.data;
}

std::optional<std::uint64_t> HeapMemory::bytes_among(std::uint64_t anonymous, bool has_forked) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process_));
  const PageMap map(process_);
  if (!map.is_open()) return std::nullopt;
  AddressRanges others = mapped_;
  std::vector<Range> private_ranges;
  for (std::string line; std::getline(maps, line);) {
    Range range{};
    std::uint64_t offset = 0;
    std::array<char, 5> permissions{};
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &range.begin, &range.end,
                    permissions.data(), &offset, &path) != 4)
      continue;
    const std::string name = line.substr(static_cast<std::size_t>(path));
    // Unreadable ranges are reserved addresses, terabytes at times; but a part of a file that was mapped, written and
    // given up is memory still.
    if (permissions[3] == 'p' && (permissions[0] == 'r' || name.starts_with('/'))) private_ranges.push_back(range);
    if (name == "[stack]") others.add(range.begin, range.end);
    if (name.starts_with('/') && offset == 0)
      for (const Range& data : data_of(name, range.begin)) others.add(data.begin, data.end);
  }
  std::uint64_t pages = 0;
  bool is_whole = !private_ranges.empty();
  const auto count = [&](std::uint64_t begin, std::uint64_t end) {
    const auto found = anonymous_pages(map, begin, end, has_forked);
    pages += found.value_or(0);
    is_whole = is_whole && found;
  };
  for (const Range& range : private_ranges) others.within(range.begin, range.end, count);
  if (!is_whole) return std::nullopt;
  return anonymous - std::min(anonymous, pages * page_bytes());
}

}  // namespace snug::tool
