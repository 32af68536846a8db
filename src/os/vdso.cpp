#include "os/vdso.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/bits.h"

namespace snug::os {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Entry = ElfW(Dyn);
using Symbol = ElfW(Sym);

// The object's symbol tables. The kernel maps it unrelocated: addresses in it are offsets from `bias`.
struct Object {
  uintptr_t bias = 0;
  const Symbol* symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hash = nullptr;      // of ELF: buckets, symbols, …
  const uint32_t* gnu_hash = nullptr;  // buckets, first symbol, words of the filter, shift, filter, buckets, chains
};

const Entry* dynamic_table(uintptr_t start, uintptr_t* bias) {
  const auto& header = *at<const Header>(start);
  const auto* const segments = at<const Segment>(start + header.e_phoff);
  const Entry* table = nullptr;
  for (size_t i = 0; i != header.e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) *bias = start + segments[i].p_offset - segments[i].p_vaddr;
    if (segments[i].p_type == PT_DYNAMIC) table = at<const Entry>(start + segments[i].p_offset);
  }
  return table;
}

Object read_object(uintptr_t start) {
  Object object;
  const Entry* entry = dynamic_table(start, &object.bias);
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const uintptr_t address = object.bias + entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) object.symbols = at<const Symbol>(address);
    if (entry->d_tag == DT_STRTAB) object.names = at<const char>(address);
    if (entry->d_tag == DT_HASH) object.hash = at<const uint32_t>(address);
    if (entry->d_tag == DT_GNU_HASH) object.gnu_hash = at<const uint32_t>(address);
  }
  return object;
}

// The symbol table does not state its length; the number of symbols comes from a hash table.
size_t count_symbols(const Object& object) {
  if (object.hash != nullptr) return object.hash[1];
  if (object.gnu_hash == nullptr) return 0;
  const uint32_t count = object.gnu_hash[0];
  const uint32_t first = object.gnu_hash[1];
  const uint32_t filter_words = object.gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* const buckets = object.gnu_hash + 4 + filter_words;
  const uint32_t* const chains = buckets + count;
  uint32_t last = 0;
  for (uint32_t i = 0; i != count; ++i) last = max(last, buckets[i]);
  if (last < first) return first;
  while ((chains[last - first] & 1) == 0) ++last;  // the lowest bit ends a chain
  return last + size_t{1};
}

}  // namespace

void* find_in_vdso(uintptr_t start, const char* name) {
  if (start == 0) return nullptr;
  const Object object = read_object(start);
  if (object.symbols == nullptr || object.names == nullptr) return nullptr;
  for (size_t left = count_symbols(object), i = 0; i != left; ++i) {
    const Symbol& symbol = object.symbols[i];
    if (symbol.st_shndx != SHN_UNDEF && strcmp(object.names + symbol.st_name, name) == 0)
      return at<void>(object.bias + symbol.st_value);
  }
  return nullptr;
}

}  // namespace snug::os
