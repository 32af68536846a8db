// ElfFile: what a dynamic linker knows of an ELF file, read without running any of it.
//
// The file may be damaged or hostile. Everything is looked at through FileBytes, which checks each offset against the
// file's size; what points outside of the file throws UserError with one line. Nothing is allocated by a number that
// the file states. Only one thing is not guarded against: another process that shortens the file meanwhile.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace snug::tool {

// A regular file's bytes.
class FileBytes {
 public:
  // Throws UserError if it cannot be read, or is no regular file.
  explicit FileBytes(const std::string& path);
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;

  const std::string& path() const { return path_; }
  std::span<const unsigned char> all() const { return {start_, size_}; }
  // The part [offset, offset + size); `what` names it, in the plural, if it is not there.
  std::span<const unsigned char> part(std::uint64_t offset, std::uint64_t size, const char* what) const;
  // The text at `offset` up to its zero byte, the file's end, or 4096 bytes.
  std::string_view text(std::uint64_t offset, const char* what) const;
  template <class T>
  T read(std::uint64_t offset, const char* what) const {
    T value;
    __builtin_memcpy(&value, part(offset, sizeof value, what).data(), sizeof value);
    return value;
  }

 private:
  std::string path_;
  const unsigned char* start_ = nullptr;
  std::size_t size_ = 0;
};

class ElfFile {
 public:
  static bool is_elf(const FileBytes& file);

  explicit ElfFile(FileBytes file);

  const std::string& path() const { return file_.path(); }
  // "64-bit x86-64"
  std::string machine() const;
  // False: made for another machine than this tool; then nothing below is known of it.
  bool is_native() const { return native_; }

  bool is_library() const;  // a shared one that is no program
  bool is_dynamic() const { return !interpreter_.empty(); }
  const std::string& interpreter() const { return interpreter_; }
  const std::string& soname() const { return soname_; }
  const std::vector<std::string>& needed() const { return needed_; }
  // Where it wants its libraries to be looked for, with colons between: DT_RUNPATH, or DT_RPATH if there is none.
  const std::string& run_path() const { return run_path_; }

  // Whether others may bind to its definition of the function or variable `name`.
  bool exports(std::string_view name) const;
  // Those of `names` that it defines, exported or not, as far as its symbol table has not been stripped.
  std::set<std::string_view> definitions_among(std::span<const std::string_view> names) const;
  bool has_section(std::string_view name) const;
  bool is_stripped() const;

  // A function or variable of another file that it uses, and the address where the dynamic linker puts its address.
  struct Import {
    std::string_view name;
    std::uint64_t slot;
  };
  std::vector<Import> imports() const;

  struct Segment {
    std::uint64_t address;
    std::span<const unsigned char> bytes;
    std::uint32_t flags;  // PF_X, PF_W, PF_R
  };
  const std::vector<Segment>& segments() const { return segments_; }
  // `size` bytes at `address` of the loaded program; empty if the file has none there.
  std::span<const unsigned char> at_address(std::uint64_t address, std::uint64_t size) const;

 private:
  void read_segments();
  void read_dynamic(std::uint64_t offset, std::uint64_t size);
  std::uint64_t offset_of(std::uint64_t address, const char* what) const;
  std::string_view dynamic_text(std::uint64_t offset) const;
  Elf64_Sym dynamic_symbol(std::uint64_t index) const;
  bool exports_by_gnu_hash(std::string_view name) const;
  bool exports_by_hash(std::string_view name) const;
  bool is_definition(std::uint64_t symbol, std::string_view name) const;
  void add_imports(std::uint64_t address, std::uint64_t size, std::vector<Import>& imports) const;
  std::optional<Elf64_Shdr> section_of_type(std::uint32_t type) const;

  FileBytes file_;
  Elf64_Ehdr header_{};
  bool native_ = false;
  bool position_independent_program_ = false;  // DF_1_PIE
  std::vector<Segment> segments_;
  std::vector<std::uint64_t> dynamic_;  // values by tag, of the first tags
  std::uint64_t gnu_hash_ = 0;
  std::string interpreter_;
  std::string soname_;
  std::string run_path_;
  std::vector<std::string> needed_;
};

}  // namespace snug::tool
