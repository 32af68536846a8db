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

// mallinfo's struct or mallinfo2's, which differ by what a number is in them.
template <class Info, class Number>
Info mallinfo_of(Number (*number)(size_t)) {
  const struct snug_mallinfo ours = gather_mallinfo();
  return {.arena = number(ours.arena),
          .ordblks = number(ours.ordblks),
          .smblks = number(ours.smblks),
          .hblks = number(ours.hblks),
          .hblkhd = number(ours.hblkhd),
          .usmblks = number(ours.usmblks),
          .fsmblks = number(ours.fsmblks),
          .uordblks = number(ours.uordblks),
          .fordblks = number(ours.fordblks),
          .keepcost = number(ours.keepcost)};
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
SNUG_EXPORT struct mallinfo2 mallinfo2() SNUG_LIBC_NOEXCEPT {
  return mallinfo_of<struct mallinfo2>(+[](size_t number) { return number; });
}
SNUG_EXPORT struct mallinfo mallinfo() SNUG_LIBC_NOEXCEPT { return mallinfo_of<struct mallinfo>(&clip); }
SNUG_EXPORT void malloc_stats() SNUG_LIBC_NOEXCEPT { print_statistics(); }
SNUG_EXPORT int malloc_info(int options, FILE* stream) SNUG_LIBC_NOEXCEPT { return write_malloc_info(options, stream); }
SNUG_EXPORT int mallopt(int parameter, int value) SNUG_LIBC_NOEXCEPT { return set_option(parameter, value); }

}  // extern "C"
