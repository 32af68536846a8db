// What the recorder asks of its C library that not each one has, and what it does without.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstddef>

namespace snug::recorder {

// What the dynamic linker knows of the file in which an address lies.
struct LoadedFile {
  const void* begin;
  const void* end;
  const link_map* file;
};

#if defined(__GLIBC__)

// The first of the loaded files. Takes no lock.
inline const link_map* first_loaded_file() { return _r_debug.r_map; }

// Null on a glibc before 2.35: there is no other way to ask without a lock.
extern "C" [[gnu::weak]] int find_loaded_object(void* address, dl_find_object* found) asm("_dl_find_object");

inline bool find_loaded_file(const void* address, LoadedFile& file) {
  dl_find_object found;
  if (find_loaded_object == nullptr || find_loaded_object(const_cast<void*>(address), &found) != 0) return false;
  file = {.begin = found.dlfo_map_start, .end = found.dlfo_map_end, .file = found.dlfo_link_map};
  return true;
}

#else

// musl: its dlopen gives the list itself for the program, before it takes its lock.
inline const link_map* first_loaded_file() { return static_cast<const link_map*>(dlopen(nullptr, RTLD_LAZY)); }

// Nothing in musl says without a lock in which file an address lies: there are no stacks.
inline bool find_loaded_file(const void* /*address*/, LoadedFile& /*file*/) { return false; }

#endif

}  // namespace snug::recorder
