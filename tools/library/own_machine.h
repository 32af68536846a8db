// What ELF files of this machine say in their headers, which programs, libraries and cores of it have alike.
#pragma once

#include <elf.h>

#include <bit>

namespace snug::tool {

#if defined(__x86_64__)
inline constexpr Elf64_Half kOurMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr Elf64_Half kOurMachine = EM_AARCH64;
#else
inline constexpr Elf64_Half kOurMachine = EM_NONE;
#endif
inline constexpr unsigned char kOurOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

}  // namespace snug::tool
