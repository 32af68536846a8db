#include "doctor/deepbind_call.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace snug::tool {

namespace {

constexpr unsigned char kMovEsi = 0xbe;    // mov $flags, %esi: the second argument
constexpr unsigned char kCall = 0xe8;      // call to a relative address
constexpr unsigned char kJump = 0xe9;      // the same as a tail call
constexpr unsigned char kIndirect = 0xff;  // with 0x15 call, with 0x25 jump to the address in a slot
constexpr std::size_t kNearby = 32;        // bytes of code within which the call follows its argument
constexpr unsigned char kEndbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr std::uint32_t kDeepbind = 8;  // RTLD_DEEPBIND of glibc, on every processor; musl has none
constexpr std::uint32_t kAllFlags = RTLD_LAZY | RTLD_NOW | RTLD_NOLOAD | kDeepbind | RTLD_GLOBAL | RTLD_NODELETE;

using Bytes = std::span<const unsigned char>;

std::uint32_t number_at(Bytes code, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, code.data() + at, sizeof number);
  return number;
}

// The target of an instruction that ends in the four bytes of `distance`; `next` is the address behind it.
std::uint64_t target(std::uint64_t next, std::uint32_t distance) {
  return next + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(distance)});
}

bool is_deepbind(std::uint32_t flags) {
  return (flags & kDeepbind) != 0 && (flags & (RTLD_LAZY | RTLD_NOW)) != 0 && (flags & ~kAllFlags) == 0;
}

class CodeReader {
 public:
  // `slots`: where the dynamic linker puts dlopen's address.
  CodeReader(const ElfFile& program, std::set<std::uint64_t> slots) : program_(program), slots_(std::move(slots)) {}

  // Whether the code calls dlopen within the next few bytes from `at` on.
  bool calls_soon(const ElfFile::Segment& segment, std::size_t at) const {
    const std::size_t end = std::min(segment.bytes.size(), at + kNearby);
    for (; at + 6 <= end; ++at) {
      const Bytes code = segment.bytes.subspan(at);
      if ((code[0] == kCall || code[0] == kJump) && is_stub(target(segment.address + at + 5, number_at(code, 1))))
        return true;
      if (uses_slot(code, segment.address + at)) return true;
    }
    return false;
  }

 private:
  // An entry of the linkage table jumps to what a slot holds.
  bool is_stub(std::uint64_t address) const {
    Bytes code = program_.at_address(address, 11);
    if (code.empty()) return false;
    if (std::memcmp(code.data(), kEndbr, sizeof kEndbr) == 0) {
      code = code.subspan(sizeof kEndbr);
      address += sizeof kEndbr;
    }
    if (code[0] == 0xf2) {  // the bnd prefix
      code = code.subspan(1);
      address += 1;
    }
    return uses_slot(code, address);
  }
  bool uses_slot(Bytes code, std::uint64_t address) const {
    return code[0] == kIndirect && (code[1] == 0x15 || code[1] == 0x25) &&
           slots_.contains(target(address + 6, number_at(code, 2)));
  }

  const ElfFile& program_;
  std::set<std::uint64_t> slots_;
};

bool has_deepbind_call(const ElfFile::Segment& segment, const CodeReader& reader) {
  const unsigned char* const start = segment.bytes.data();
  const unsigned char* const end = start + segment.bytes.size();
  for (const unsigned char* at = start; end - at >= 5; ++at) {
    at = static_cast<const unsigned char*>(std::memchr(at, kMovEsi, static_cast<std::size_t>(end - at - 4)));
    if (at == nullptr) return false;
    const auto offset = static_cast<std::size_t>(at - start);
    if (is_deepbind(number_at(segment.bytes, offset + 1)) && reader.calls_soon(segment, offset)) return true;
  }
  return false;
}

}  // namespace

bool calls_dlopen_with_deepbind(const ElfFile& program) {
  std::set<std::uint64_t> slots;
  for (const ElfFile::Import& import : program.imports()) {
    if (import.name == "dlopen") slots.insert(import.slot);
  }
  if (slots.empty()) return false;
  const CodeReader reader(program, std::move(slots));
  return std::any_of(program.segments().begin(), program.segments().end(), [&](const ElfFile::Segment& segment) {
    return (segment.flags & PF_X) != 0 && has_deepbind_call(segment, reader);
  });
}

}  // namespace snug::tool
