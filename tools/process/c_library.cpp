#include "process/c_library.h"

#include <stdio.h>

// Null where the C library is not glibc.
extern "C" [[gnu::weak]] const char* find_glibc_version() asm("gnu_get_libc_version");

namespace snug::tool {

CLibrary CLibrary::current() {
  if (find_glibc_version != nullptr)
    return {"glibc", find_glibc_version(), reinterpret_cast<const void*>(find_glibc_version)};
  return {"musl", "", reinterpret_cast<const void*>(&::rename)};  // which no allocator has a reason to define
}

}  // namespace snug::tool
