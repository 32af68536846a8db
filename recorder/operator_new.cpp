// All replaceable forms of operator new and delete. Those of C++'s runtime call malloc and free, and that is what these
// do, so that an event can say which form it was. What comes of a refusal is the runtime's business: its operator is
// called, and asks this library's malloc again after each call of the program's handler.
//
// A program that replaces the plain forms expects the others to call its own. They are left to the runtime then.
#include <cstdlib>
#include <new>

#include "recorder/allocation.h"
#include "recorder/exported.h"

namespace snug::recorder {

namespace {

using enum Operation;

// The runtime's operator, by its name in the symbol table.
template <class... Arguments>
void* new_of_runtime(const char* name, Arguments... arguments) {
  auto* const function = next<void*(Arguments...)>(name);
  if (function == nullptr) std::abort();  // nothing can throw without a runtime
  return function(arguments...);
}

bool is_ours() { return !has_watched() || watched.has_our_operators; }

template <class... Arguments>
void* allocate_new(Operation operation, const char* name, std::size_t size, Arguments... arguments) {
  if (is_ours()) [[likely]]
    if (void* block = allocate(operation, size, 0, [=] { return watched.malloc(size); }); block != nullptr)
      return block;
  return new_of_runtime(name, size, arguments...);
}

template <class... Arguments>
void* allocate_new(Operation operation, const char* name, std::size_t size, std::align_val_t alignment,
                   Arguments... arguments) {
  const auto bytes = static_cast<std::size_t>(alignment);
  if (is_ours()) [[likely]]
    if (void* block = allocate(operation, size, bytes, [=] { return watched.memalign(bytes, size); }); block != nullptr)
      return block;
  return new_of_runtime(name, size, alignment, arguments...);
}

// `arguments`: those of the runtime's operator behind the block.
template <class... Arguments>
void free_delete(Operation operation, const char* name, void* block, std::size_t size, std::size_t alignment,
                 Arguments... arguments) {
  if (is_ours() || early_blocks.owns(block)) [[likely]]
    return free_block(operation, block, size, alignment);
  if (auto* const function = next<void(void*, Arguments...)>(name); function != nullptr)
    function(block, arguments...);
  else
    free_block(operation, block, size, alignment);
}

std::size_t bytes_of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

}  // namespace snug::recorder

using namespace snug::recorder;  // NOLINT: operators stand in the global namespace

using NoThrow = const std::nothrow_t&;

RECORDER_EXPORT void* operator new(std::size_t size) { return allocate_new(kNew, "_Znwm", size); }
RECORDER_EXPORT void* operator new[](std::size_t size) { return allocate_new(kNewArray, "_Znam", size); }
RECORDER_EXPORT void* operator new(std::size_t size, NoThrow mark) noexcept {
  return allocate_new<NoThrow>(kNewNothrow, "_ZnwmRKSt9nothrow_t", size, mark);
}
RECORDER_EXPORT void* operator new[](std::size_t size, NoThrow mark) noexcept {
  return allocate_new<NoThrow>(kNewArrayNothrow, "_ZnamRKSt9nothrow_t", size, mark);
}
RECORDER_EXPORT void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_new(kNewAligned, "_ZnwmSt11align_val_t", size, alignment);
}
RECORDER_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_new(kNewArrayAligned, "_ZnamSt11align_val_t", size, alignment);
}
RECORDER_EXPORT void* operator new(std::size_t size, std::align_val_t alignment, NoThrow mark) noexcept {
  return allocate_new<NoThrow>(kNewAlignedNothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", size, alignment, mark);
}
RECORDER_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment, NoThrow mark) noexcept {
  return allocate_new<NoThrow>(kNewArrayAlignedNothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", size, alignment, mark);
}

RECORDER_EXPORT void operator delete(void* block) noexcept { free_delete(kDelete, "_ZdlPv", block, 0, 0); }
RECORDER_EXPORT void operator delete[](void* block) noexcept { free_delete(kDeleteArray, "_ZdaPv", block, 0, 0); }
RECORDER_EXPORT void operator delete(void* block, NoThrow mark) noexcept {
  free_delete<NoThrow>(kDeleteNothrow, "_ZdlPvRKSt9nothrow_t", block, 0, 0, mark);
}
RECORDER_EXPORT void operator delete[](void* block, NoThrow mark) noexcept {
  free_delete<NoThrow>(kDeleteArrayNothrow, "_ZdaPvRKSt9nothrow_t", block, 0, 0, mark);
}
RECORDER_EXPORT void operator delete(void* block, std::size_t size) noexcept {
  free_delete(kDeleteSized, "_ZdlPvm", block, size, 0, size);
}
RECORDER_EXPORT void operator delete[](void* block, std::size_t size) noexcept {
  free_delete(kDeleteArraySized, "_ZdaPvm", block, size, 0, size);
}
RECORDER_EXPORT void operator delete(void* block, std::align_val_t alignment) noexcept {
  free_delete(kDeleteAligned, "_ZdlPvSt11align_val_t", block, 0, bytes_of(alignment), alignment);
}
RECORDER_EXPORT void operator delete[](void* block, std::align_val_t alignment) noexcept {
  free_delete(kDeleteArrayAligned, "_ZdaPvSt11align_val_t", block, 0, bytes_of(alignment), alignment);
}
RECORDER_EXPORT void operator delete(void* block, std::align_val_t alignment, NoThrow mark) noexcept {
  free_delete<std::align_val_t, NoThrow>(kDeleteAlignedNothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", block, 0,
                                         bytes_of(alignment), alignment, mark);
}
RECORDER_EXPORT void operator delete[](void* block, std::align_val_t alignment, NoThrow mark) noexcept {
  free_delete<std::align_val_t, NoThrow>(kDeleteArrayAlignedNothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", block, 0,
                                         bytes_of(alignment), alignment, mark);
}
RECORDER_EXPORT void operator delete(void* block, std::size_t size, std::align_val_t alignment) noexcept {
  free_delete(kDeleteSizedAligned, "_ZdlPvmSt11align_val_t", block, size, bytes_of(alignment), size, alignment);
}
RECORDER_EXPORT void operator delete[](void* block, std::size_t size, std::align_val_t alignment) noexcept {
  free_delete(kDeleteArraySizedAligned, "_ZdaPvmSt11align_val_t", block, size, bytes_of(alignment), size, alignment);
}
