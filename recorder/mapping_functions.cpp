// The program's own mappings and its own break: those that it, or a library, makes by libc's functions. Mappings that
// the allocator makes while it is called do not count.
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "recorder/exported.h"
#include "recorder/recording.h"
#include "recorder/stacks.h"
#include "recorder/watched.h"

namespace snug::recorder {

namespace {

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Before libc's functions are known, in a resolver of indirect functions, all these calls fail.
template <class Map>
void* map(Map Watched::* function, void* address, std::size_t bytes, int protection, int flags, int file,
          off_t offset) {
  if (!has_watched()) return MAP_FAILED;
  void* const memory = (watched.*function)(address, bytes, protection, flags, file, offset);
  if (memory != MAP_FAILED) tell(Operation::kMap, memory, bytes, static_cast<std::uint8_t>(protection & kMark));
  return memory;
}

}  // namespace

extern "C" {

RECORDER_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  return map(&Watched::mmap, address, bytes, protection, flags, file, offset);
}

RECORDER_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  return map(&Watched::mmap64, address, bytes, protection, flags, file, offset);
}

RECORDER_EXPORT int munmap(void* address, std::size_t bytes) {
  if (!has_watched()) return -1;
  // Before the call, as the kernel may give the place to another thread. A call that must fail unmaps nothing.
  constexpr std::uint64_t kLeastPage = 4096;
  if (bytes != 0 && number_of(address) % kLeastPage == 0) tell(Operation::kUnmap, address, bytes);
  const int result = watched.munmap(address, bytes);
  unmappings.fetch_add(1, std::memory_order_relaxed);
  return result;
}

RECORDER_EXPORT void* mremap(void* old_address, std::size_t old_bytes, std::size_t bytes, int flags, ...) {
  if (!has_watched()) return MAP_FAILED;
  va_list rest;
  va_start(rest, flags);
  void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  void* const address = watched.mremap(old_address, old_bytes, bytes, flags, wanted);
  unmappings.fetch_add(1, std::memory_order_relaxed);
  if (address != MAP_FAILED)
    tell_with_rest(Operation::kRemap, number_of(old_address), old_bytes, 0, number_of(address), bytes);
  return address;
}

RECORDER_EXPORT void* sbrk(intptr_t growth) {
  if (!has_watched()) return reinterpret_cast<void*>(-1);
  void* const before = watched.sbrk(growth);
  if (growth != 0 && before != reinterpret_cast<void*>(-1))
    tell(Operation::kBreak, static_cast<std::byte*>(before) + growth, static_cast<std::uint64_t>(growth));
  return before;
}

RECORDER_EXPORT int brk(void* wanted) {
  if (!has_watched()) return -1;
  void* const before = watched.sbrk(0);
  const int error = watched.brk(wanted);
  if (error == 0) tell(Operation::kBreak, wanted, number_of(wanted) - number_of(before));
  return error;
}

}  // extern "C"

}  // namespace snug::recorder
