// The malloc family under its global names, which makes libsnug.so a drop-in. All of it is here, statistics included,
// so that no call reaches another heap.
#include <limits.h>
#include <stdio.h>

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "allocator/environment.h"
#include "allocator/statistics.h"
#include "c_interface/c_functions.h"
#include "c_interface/malloc_info.h"
#include "os/libc_features.h"
#include "os/mallinfo.h"
#include "os/process.h"

using namespace snug;

namespace {

struct mallinfo2 glibc_mallinfo() {
  const struct snug_mallinfo ours = gather_mallinfo();
  struct mallinfo2 info{};
  info.arena = ours.arena;
  info.ordblks = ours.ordblks;
  info.smblks = ours.smblks;
  info.hblks = ours.hblks;
  info.hblkhd = ours.hblkhd;
  info.usmblks = ours.usmblks;
  info.fsmblks = ours.fsmblks;
  info.uordblks = ours.uordblks;
  info.fordblks = ours.fordblks;
  info.keepcost = ours.keepcost;
  return info;
}

// Opens the allocator while the program is being loaded: later the program may have set up a filter that does not allow
// the system calls of this. The dynamic linker passes the environment to constructors; libc does not know it yet, as
// its own constructors run later (-z initfirst).
SNUG_AT_LOAD SNUG_USED void open_at_load(int, char**, char** environment) {
  if constexpr (os::kConstructorsGetEnvironment) {
    if (!libc_has_environment()) os::learn_start_from(environment);
    tell_environment(environment);
  }
  allocator.ensure_open();
}

// The old struct has ints: a number that does not fit becomes the largest int, not a negative one.
int clip(size_t value) { return value > INT_MAX ? INT_MAX : static_cast<int>(value); }

}  // namespace

extern "C" {

SNUG_EXPORT void* malloc(size_t size) SNUG_LIBC_NOEXCEPT { return allocate(size); }
SNUG_EXPORT void* calloc(size_t count, size_t size) SNUG_LIBC_NOEXCEPT { return allocate_zeroed(count, size); }
SNUG_EXPORT void* realloc(void* block, size_t size) SNUG_LIBC_NOEXCEPT { return reallocate(block, size); }
SNUG_EXPORT void* reallocarray(void* block, size_t count, size_t size) SNUG_LIBC_NOEXCEPT {
  return reallocate_array(block, count, size);
}
SNUG_EXPORT void free(void* block) SNUG_LIBC_NOEXCEPT { deallocate(block); }
SNUG_EXPORT void cfree(void* block) SNUG_LIBC_NOEXCEPT { deallocate(block); }
SNUG_EXPORT void free_sized(void* block, size_t size) SNUG_LIBC_NOEXCEPT { deallocate_told(block, size); }
SNUG_EXPORT void free_aligned_sized(void* block, size_t, size_t size) SNUG_LIBC_NOEXCEPT {
  deallocate_told(block, size);
}
SNUG_EXPORT void* aligned_alloc(size_t alignment, size_t size) SNUG_LIBC_NOEXCEPT { return align(alignment, size); }
SNUG_EXPORT int posix_memalign(void** block, size_t alignment, size_t size) SNUG_LIBC_NOEXCEPT {
  return align_posix(block, alignment, size);
}
SNUG_EXPORT void* memalign(size_t alignment, size_t size) SNUG_LIBC_NOEXCEPT { return align(alignment, size); }
SNUG_EXPORT void* valloc(size_t size) SNUG_LIBC_NOEXCEPT { return align_to_page(size); }
SNUG_EXPORT void* pvalloc(size_t size) SNUG_LIBC_NOEXCEPT { return align_to_whole_pages(size); }
SNUG_EXPORT size_t malloc_usable_size(void* block) SNUG_LIBC_NOEXCEPT {
  return usable_size(block, "malloc_usable_size");
}

SNUG_EXPORT int malloc_trim(size_t pad) SNUG_LIBC_NOEXCEPT { return trim(pad) ? 1 : 0; }
SNUG_EXPORT struct mallinfo2 mallinfo2() SNUG_LIBC_NOEXCEPT { return glibc_mallinfo(); }
SNUG_EXPORT struct mallinfo mallinfo() SNUG_LIBC_NOEXCEPT {
  const struct mallinfo2 wide = glibc_mallinfo();
  struct mallinfo info{};
  info.arena = clip(wide.arena);
  info.ordblks = clip(wide.ordblks);
  info.smblks = clip(wide.smblks);
  info.hblks = clip(wide.hblks);
  info.hblkhd = clip(wide.hblkhd);
  info.usmblks = clip(wide.usmblks);
  info.fsmblks = clip(wide.fsmblks);
  info.uordblks = clip(wide.uordblks);
  info.fordblks = clip(wide.fordblks);
  info.keepcost = clip(wide.keepcost);
  return info;
}
SNUG_EXPORT void malloc_stats() SNUG_LIBC_NOEXCEPT { print_statistics(); }
SNUG_EXPORT int malloc_info(int options, FILE* stream) SNUG_LIBC_NOEXCEPT { return write_malloc_info(options, stream); }
SNUG_EXPORT int mallopt(int parameter, int value) SNUG_LIBC_NOEXCEPT { return set_option(parameter, value); }

}  // extern "C"
