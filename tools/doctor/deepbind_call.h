// Whether a program's code calls dlopen with RTLD_DEEPBIND written into the call.
#pragma once

#include "library/elf_file.h"

namespace snug::tool {

// A library that is opened so binds malloc to libc's before anyone else's, but is handed blocks of the preloaded one,
// and frees them to libc: the process aborts. Only a constant flag in the instructions before the call is seen
// (x86-64).
bool calls_dlopen_with_deepbind(const ElfFile& program);

}  // namespace snug::tool
