// The program's own mappings and its own break: those that it, or a library, makes by libc's functions. What the
// allocator maps while it is called is not the program's.
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "recorder/exported.h"
#include "recorder/recording.h"
#include "recorder/watched.h"

namespace snug::recorder {

namespace {

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

using Map = void*(void*, std::size_t, int, int, int, off_t);

void* map(Map*& function, const char* name, void* address, std::size_t bytes, int protection, int flags, int file,
          off_t offset) {
  if (function == nullptr) function = next<Map>(name);
  void* const memory = function(address, bytes, protection, flags, file, offset);
  if (memory != MAP_FAILED) tell(Operation::kMap, memory, bytes, static_cast<std::uint8_t>(protection & kMark));
  return memory;
}

}  // namespace

extern "C" {

RECORDER_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  static constinit Map* function = nullptr;
  return map(function, "mmap", address, bytes, protection, flags, file, offset);
}

RECORDER_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  static constinit Map* function = nullptr;
  return map(function, "mmap64", address, bytes, protection, flags, file, offset);
}

RECORDER_EXPORT int munmap(void* address, std::size_t bytes) {
  using Unmap = int(void*, std::size_t);
  static constinit Unmap* function = nullptr;
  if (function == nullptr) function = next<Unmap>("munmap");
  tell(Operation::kUnmap, address, bytes);
  return function(address, bytes);
}

RECORDER_EXPORT void* mremap(void* old_address, std::size_t old_bytes, std::size_t bytes, int flags, ...) {
  using Remap = void*(void*, std::size_t, std::size_t, int, ...);
  static constinit Remap* function = nullptr;
  if (function == nullptr) function = next<Remap>("mremap");
  va_list rest;
  va_start(rest, flags);
  void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  void* const address = function(old_address, old_bytes, bytes, flags, wanted);
  if (address != MAP_FAILED)
    tell_with_rest(Operation::kRemap, number_of(old_address), old_bytes, 0, number_of(address), bytes);
  return address;
}

RECORDER_EXPORT void* sbrk(intptr_t growth) {
  using Move = void*(intptr_t);
  static constinit Move* function = nullptr;
  if (function == nullptr) function = next<Move>("sbrk");
  void* const before = function(growth);
  if (growth != 0 && before != reinterpret_cast<void*>(-1))
    tell(Operation::kBreak, static_cast<std::byte*>(before) + growth, static_cast<std::uint64_t>(growth));
  return before;
}

RECORDER_EXPORT int brk(void* wanted) {
  using Set = int(void*);
  static constinit Set* function = nullptr;
  if (function == nullptr) function = next<Set>("brk");
  void* const before = sbrk(0);
  const int error = function(wanted);
  if (error == 0) tell(Operation::kBreak, wanted, number_of(wanted) - number_of(before));
  return error;
}

}  // extern "C"

}  // namespace snug::recorder
