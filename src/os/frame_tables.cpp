#include "os/frame_tables.h"

#include "base/bits.h"
#include "base/compiler.h"
#include "os/libc_features.h"

namespace snug::os {

#if defined(__x86_64__)

namespace {

// What glibc's _dl_find_object() fills in: the module that an address lies in. The function is lock-free, and may be
// called within dlopen. A glibc before 2.35 has none, and its headers do not declare it; in a program the linker would
// take a weak reference for none where it has one.
struct FoundModule {
  uint64_t flags;
  uintptr_t start;
  uintptr_t end;
  void* link_map;
  uintptr_t table;  // .eh_frame_hdr
  uint64_t reserved[7];
};

// In the library as one file all that is not marked is hidden, and a hidden function is none of libc's.
#if SNUG_LIBC_FINDS_OBJECTS
extern "C" SNUG_EXPORT int find_object(void* address, FoundModule* module) SNUG_ASM_NAME("_dl_find_object");
#else
extern "C" SNUG_WEAK_IMPORT int find_object(void* address, FoundModule* module) SNUG_ASM_NAME("_dl_find_object");
#endif

}  // namespace

#if SNUG_LIBC_FINDS_OBJECTS
bool finds_frame_tables() { return true; }
#else
bool finds_frame_tables() { return find_object != nullptr; }
#endif

uintptr_t find_frame_table(uintptr_t address) {
  FoundModule module;
  return find_object(at<void>(address), &module) == 0 ? module.table : 0;
}

#else

bool finds_frame_tables() { return false; }
uintptr_t find_frame_table(uintptr_t) { return 0; }

#endif

}  // namespace snug::os
