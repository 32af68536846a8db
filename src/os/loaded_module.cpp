#include "os/loaded_module.h"

#include <elf.h>
#include <string.h>

#include "base/bits.h"
#include "os/map_line.h"

namespace snug::os {
namespace {

// The module's load bias: what is to be added to its symbols' addresses; `base` is where its file begins in memory.
uintptr_t bias_of(uintptr_t base) {
  const auto& header = *at<const Elf64_Ehdr>(base);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return base;
  if (header.e_type == ET_EXEC) return 0;
  if (header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) > 4096) return base;
  const auto* const segments = at<const Elf64_Phdr>(base + header.e_phoff);
  for (size_t i = 0; i != header.e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0) return base - segments[i].p_vaddr;
  return base;
}

class Search {
 public:
  Search(uintptr_t address, LoadedModule* module) : address_(address), module_(module) {}

  // True if the line describes the mapping that the address lies in.
  bool look_at(const MapLine& mapping) {
    // A module's mappings follow each other; the first begins with the header of its file.
    if (strncmp(mapping.path, path_, sizeof path_ - 1) != 0 || (mapping.offset == 0 && mapping.start != end_))
      begin_module(mapping);
    end_ = mapping.end;
    if (address_ < mapping.start || address_ >= mapping.end) return false;
    is_found_ = mapping.is_executable;
    if (is_found_) name(mapping);
    return true;
  }
  bool is_found() const { return is_found_; }

 private:
  void begin_module(const MapLine& mapping) {
    memcpy(path_, mapping.path, ::strnlen(mapping.path, sizeof path_ - 1));
    path_[::strnlen(mapping.path, sizeof path_ - 1)] = 0;
    base_ = mapping.is_readable && mapping.offset == 0 && mapping.path[0] == '/' ? mapping.start : 0;
  }
  void name(const MapLine& mapping) {
    const size_t length = strlen(mapping.path);
    constexpr size_t kMost = sizeof module_->path - 1;
    memcpy(module_->path, length > kMost ? mapping.path + length - kMost : mapping.path,
           (length > kMost ? kMost : length) + 1);
    module_->address = base_ != 0             ? address_ - bias_of(base_)
                       : mapping.path[0] != 0 ? address_ - mapping.start + mapping.offset
                                              : address_;
  }

  uintptr_t address_;
  LoadedModule* module_;
  char path_[256] = "";
  uintptr_t base_ = 0;  // 0: the module's header cannot be read
  uintptr_t end_ = 0;
  bool is_found_ = false;
};

}  // namespace

bool find_module(uintptr_t address, LoadedModule* module) {
  Search search(address, module);
  return for_each_map_line([&](const MapLine& line) { return search.look_at(line); }) && search.is_found();
}

}  // namespace snug::os
