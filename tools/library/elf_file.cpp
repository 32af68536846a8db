#include "library/elf_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "library/own_machine.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::size_t kDynamicTags = DT_FLAGS + 1;  // those that are remembered by their number

// What programs, libraries and their functions are called is shorter; and the kernel takes no program with more headers
// than fill 64 KiB. Without these limits a file could make us read all of it for each of its symbols.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostHeaders = 65536 / sizeof(Elf64_Phdr);

UserError unreadable(const std::string& path, int error) {
  return UserError(fmt::format("cannot look into '{}': {}", path, std::strerror(error)));
}

UserError damaged(const std::string& path, const char* what) {
  return UserError(fmt::format("cannot look into '{}': it is damaged ({} lie beyond its end)", path, what));
}

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  return hash;
}

}  // namespace

FileBytes::FileBytes(const std::string& path) : path_(path) {
  struct stat status{};
  // Before it is opened: devices may do something then, and a process may have mapped one.
  if (stat(path.c_str(), &status) != 0) throw unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) throw UserError(fmt::format("cannot look into '{}': it is no regular file", path));
  // O_NONBLOCK: should it have become a pipe without a writer, that must not hold us.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) throw unreadable(path, errno);
  int fault = fstat(descriptor, &status) == 0 ? 0 : errno;
  if (fault == 0 && status.st_size > 0) {
    void* mapped = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED) {
      fault = errno;
    } else {
      start_ = static_cast<const unsigned char*>(mapped);
      size_ = static_cast<std::size_t>(status.st_size);
    }
  }
  close(descriptor);
  if (fault != 0) throw unreadable(path, fault);
}

FileBytes::~FileBytes() {
  if (start_ != nullptr) munmap(const_cast<unsigned char*>(start_), size_);
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : path_(std::move(other.path_)),
      start_(std::exchange(other.start_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

std::span<const unsigned char> FileBytes::part(std::uint64_t offset, std::uint64_t size, const char* what) const {
  if (offset > size_ || size > size_ - offset) throw damaged(path_, what);
  return all().subspan(offset, size);
}

std::string_view FileBytes::text(std::uint64_t offset, const char* what) const {
  if (offset >= size_) throw damaged(path_, what);
  const char* start = reinterpret_cast<const char*>(start_ + offset);
  return {start, strnlen(start, std::min<std::uint64_t>(size_ - offset, kLongestText))};
}

bool ElfFile::is_elf(const FileBytes& file) {
  return file.all().size() >= SELFMAG && std::memcmp(file.all().data(), ELFMAG, SELFMAG) == 0;
}

ElfFile::ElfFile(FileBytes file) : file_(std::move(file)), dynamic_(kDynamicTags, 0) {
  if (!is_elf(file_)) throw UserError(fmt::format("'{}' is no ELF file", path()));
  file_.part(0, EI_NIDENT + 2 * sizeof(Elf64_Half), "its first bytes");
  std::memcpy(header_.e_ident, file_.all().data(), EI_NIDENT);
  header_.e_machine = file_.read<Elf64_Half>(offsetof(Elf64_Ehdr, e_machine), "its first bytes");
  native_ = header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == kOurOrder &&
            header_.e_machine == kOurMachine;
  if (!native_) return;
  header_ = file_.read<Elf64_Ehdr>(0, "its first bytes");
  if (header_.e_type != ET_EXEC && header_.e_type != ET_DYN)
    throw UserError(fmt::format("'{}' is no program: it is an object file or a core", path()));
  read_segments();
}

std::string ElfFile::machine() const {
  const int bits = header_.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
  constexpr std::pair<int, const char*> kNames[] = {{EM_386, "x86"},         {EM_X86_64, "x86-64"}, {EM_ARM, "ARM"},
                                                    {EM_AARCH64, "AArch64"}, {EM_RISCV, "RISC-V"},  {EM_PPC64, "POWER"},
                                                    {EM_S390, "s390"}};
  for (const auto& [number, name] : kNames) {
    if (header_.e_machine == number) return fmt::format("{}-bit {}", bits, name);
  }
  return fmt::format("{}-bit machine {}", bits, header_.e_machine);
}

bool ElfFile::is_library() const {
  return header_.e_type == ET_DYN && interpreter_.empty() && !position_independent_program_;
}

void ElfFile::read_segments() {
  std::optional<Elf64_Phdr> dynamic;
  if (header_.e_phnum > kMostHeaders)
    throw UserError(fmt::format("'{}' is no program: it has {} program headers", path(), header_.e_phnum));
  for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
    const auto entry = file_.read<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr), "its program headers");
    if (entry.p_type == PT_LOAD)
      segments_.push_back({entry.p_vaddr, file_.part(entry.p_offset, entry.p_filesz, "its segments"), entry.p_flags});
    if (entry.p_type == PT_INTERP) {
      file_.part(entry.p_offset, entry.p_filesz, "its segments");
      interpreter_ = file_.text(entry.p_offset, "its segments");
    }
    if (entry.p_type == PT_DYNAMIC) dynamic = entry;
  }
  if (dynamic) read_dynamic(dynamic->p_offset, dynamic->p_filesz);
}

void ElfFile::read_dynamic(std::uint64_t offset, std::uint64_t size) {
  constexpr const char* kWhat = "its dynamic entries";
  const std::uint64_t count = file_.part(offset, size, kWhat).size() / sizeof(Elf64_Dyn);
  std::vector<std::uint64_t> needed;
  std::uint64_t run_path = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = file_.read<Elf64_Dyn>(offset + i * sizeof(Elf64_Dyn), kWhat);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag > 0 && entry.d_tag < static_cast<Elf64_Sxword>(dynamic_.size()))
      dynamic_[static_cast<std::size_t>(entry.d_tag)] = entry.d_un.d_val;
    if (entry.d_tag == DT_NEEDED) needed.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && run_path == 0)) run_path = entry.d_un.d_val;
    if (entry.d_tag == DT_GNU_HASH) gnu_hash_ = entry.d_un.d_val;
    if (entry.d_tag == DT_FLAGS_1) position_independent_program_ = (entry.d_un.d_val & DF_1_PIE) != 0;
  }
  for (const std::uint64_t name : needed) needed_.emplace_back(dynamic_text(name));
  if (run_path != 0) run_path_ = dynamic_text(run_path);
  if (dynamic_[DT_SONAME] != 0) soname_ = dynamic_text(dynamic_[DT_SONAME]);
}

std::span<const unsigned char> ElfFile::at_address(std::uint64_t address, std::uint64_t size) const {
  for (const Segment& segment : segments_) {
    if (address < segment.address || address - segment.address >= segment.bytes.size()) continue;
    const std::uint64_t from = address - segment.address;
    if (size <= segment.bytes.size() - from) return segment.bytes.subspan(from, size);
  }
  return {};
}

std::uint64_t ElfFile::offset_of(std::uint64_t address, const char* what) const {
  const auto found = at_address(address, 1);
  if (found.empty()) throw damaged(path(), what);
  return static_cast<std::uint64_t>(found.data() - file_.all().data());
}

std::string_view ElfFile::dynamic_text(std::uint64_t offset) const {
  const std::uint64_t table = offset_of(dynamic_[DT_STRTAB], "its dynamic texts");
  if (offset > file_.all().size()) throw damaged(path(), "its dynamic texts");
  return file_.text(table + offset, "its dynamic texts");
}

Elf64_Sym ElfFile::dynamic_symbol(std::uint64_t index) const {
  constexpr const char* kWhat = "its dynamic symbols";
  if (index > file_.all().size()) throw damaged(path(), kWhat);
  return file_.read<Elf64_Sym>(offset_of(dynamic_[DT_SYMTAB], kWhat) + index * sizeof(Elf64_Sym), kWhat);
}

bool ElfFile::is_definition(std::uint64_t symbol, std::string_view name) const {
  const Elf64_Sym found = dynamic_symbol(symbol);
  return found.st_shndx != SHN_UNDEF && ELF64_ST_BIND(found.st_info) != STB_LOCAL &&
         dynamic_text(found.st_name) == name;
}

bool ElfFile::exports(std::string_view name) const {
  if (gnu_hash_ != 0) return exports_by_gnu_hash(name);
  return dynamic_[DT_HASH] != 0 && exports_by_hash(name);
}

// The header, a Bloom filter, the buckets, then for each symbol from `first` on its hash, with the lowest bit set in
// the last one of a bucket.
bool ElfFile::exports_by_gnu_hash(std::string_view name) const {
  constexpr const char* kWhat = "its hash tables";
  struct Header {
    std::uint32_t buckets, first, filter_words, filter_shift;
  };
  const std::uint64_t table = offset_of(gnu_hash_, kWhat);
  const auto header = file_.read<Header>(table, kWhat);
  if (header.buckets == 0) return false;
  const std::uint64_t buckets = table + sizeof(Header) + std::uint64_t{header.filter_words} * sizeof(std::uint64_t);
  const std::uint64_t hashes = buckets + std::uint64_t{header.buckets} * sizeof(std::uint32_t);
  const std::uint32_t hash = gnu_hash(name);
  std::uint64_t symbol = file_.read<std::uint32_t>(buckets + (hash % header.buckets) * sizeof(std::uint32_t), kWhat);
  if (symbol < header.first) return false;
  for (;; ++symbol) {
    const auto other = file_.read<std::uint32_t>(hashes + (symbol - header.first) * sizeof(std::uint32_t), kWhat);
    if ((other | 1) == (hash | 1) && is_definition(symbol, name)) return true;
    if ((other & 1) != 0) return false;
  }
}

// The older table. It says how many symbols there are, so all of them are looked at: no chain is followed in circles.
bool ElfFile::exports_by_hash(std::string_view name) const {
  const std::uint64_t table = offset_of(dynamic_[DT_HASH], "its hash tables");
  const auto count = file_.read<std::uint32_t>(table + sizeof(std::uint32_t), "its hash tables");
  for (std::uint64_t symbol = 1; symbol < count; ++symbol) {
    if (is_definition(symbol, name)) return true;
  }
  return false;
}

std::vector<ElfFile::Import> ElfFile::imports() const {
  std::vector<Import> imports;
  add_imports(dynamic_[DT_JMPREL], dynamic_[DT_PLTRELSZ], imports);
  add_imports(dynamic_[DT_RELA], dynamic_[DT_RELASZ], imports);
  return imports;
}

void ElfFile::add_imports(std::uint64_t address, std::uint64_t size, std::vector<Import>& imports) const {
  constexpr const char* kWhat = "its relocations";
  if (size == 0) return;
  const std::uint64_t offset = offset_of(address, kWhat);
  const std::uint64_t count = file_.part(offset, size, kWhat).size() / sizeof(Elf64_Rela);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto relocation = file_.read<Elf64_Rela>(offset + i * sizeof(Elf64_Rela), kWhat);
    if (ELF64_R_SYM(relocation.r_info) == 0) continue;
    const Elf64_Sym symbol = dynamic_symbol(ELF64_R_SYM(relocation.r_info));
    if (symbol.st_shndx == SHN_UNDEF) imports.push_back({dynamic_text(symbol.st_name), relocation.r_offset});
  }
}

std::optional<Elf64_Shdr> ElfFile::section_of_type(std::uint32_t type) const {
  for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
    const auto section = file_.read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr), "its section headers");
    if (section.sh_type == type) return section;
  }
  return std::nullopt;
}

bool ElfFile::has_section(std::string_view name) const {
  constexpr const char* kWhat = "its section headers";
  if (header_.e_shstrndx >= header_.e_shnum) return false;
  const auto names = file_.read<Elf64_Shdr>(header_.e_shoff + header_.e_shstrndx * sizeof(Elf64_Shdr), kWhat);
  if (names.sh_offset > file_.all().size()) throw damaged(path(), kWhat);
  for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
    const auto section = file_.read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr), kWhat);
    if (file_.text(names.sh_offset + section.sh_name, "its section names") == name) return true;
  }
  return false;
}

bool ElfFile::is_stripped() const { return !section_of_type(SHT_SYMTAB); }

std::set<std::string_view> ElfFile::definitions_among(std::span<const std::string_view> names) const {
  std::set<std::string_view> found;
  for (const std::string_view name : names) {
    if (exports(name)) found.insert(name);
  }
  const auto table = section_of_type(SHT_SYMTAB);
  if (!table) return found;
  const auto texts =
      file_.read<Elf64_Shdr>(header_.e_shoff + table->sh_link * sizeof(Elf64_Shdr), "its section headers");
  const auto letters = file_.part(texts.sh_offset, texts.sh_size, "its symbol names");
  const std::uint64_t count = file_.part(table->sh_offset, table->sh_size, "its symbols").size() / sizeof(Elf64_Sym);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto symbol = file_.read<Elf64_Sym>(table->sh_offset + i * sizeof(Elf64_Sym), "its symbols");
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (symbol.st_name >= letters.size()) throw damaged(path(), "its symbol names");
    const auto wanted = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
      // Most names differ in their first letter; to measure each one's length would take ten times as long.
      return name.front() == static_cast<char>(letters[symbol.st_name]) &&
             file_.text(texts.sh_offset + symbol.st_name, "its symbol names") == name;
    });
    if (wanted != names.end()) found.insert(*wanted);
  }
  return found;
}

}  // namespace snug::tool
