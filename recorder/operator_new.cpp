// All replaceable forms of operator new and delete. Like those of the C++ runtime they call malloc, aligned_alloc and
// free, so that an event can say which form it was. After a refusal the runtime's operator is called: it calls this
// library's malloc again after each call of the program's handler.
//
// A program that replaces the plain forms expects the others to call its own. Then these leave the others to the
// runtime; and all forms if the program has a malloc of its own, which the runtime calls, and these would not.
#include <bit>
#include <cstdlib>
#include <new>

#include "recorder/allocation.h"
#include "recorder/exported.h"

namespace snug::recorder {

namespace {

using enum Operation;

template <class... Arguments>
void* new_of_runtime(Operation operation, Arguments... arguments) {
  auto* const function = reinterpret_cast<void* (*)(Arguments...)>(operator_of_runtime(operation));
  if (function == nullptr) std::abort();  // nothing can throw without a runtime
  return function(arguments...);
}

bool is_ours() { return !has_watched() || watched.has_our_operators; }

// As the runtime does: never 0 bytes, and a multiple of the alignment.
std::size_t at_least_one(std::size_t size) { return size != 0 ? size : 1; }

void* call_aligned(std::size_t alignment, std::size_t size) {
  if (!std::has_single_bit(alignment) || size > SIZE_MAX - alignment) return nullptr;
  return watched.aligned_alloc(alignment, (at_least_one(size) + alignment - 1) / alignment * alignment);
}

template <class... Arguments>
void* allocate_new(Operation operation, std::size_t size, Arguments... arguments) {
  const auto call = [=] { return watched.malloc(at_least_one(size)); };
  if (is_ours()) [[likely]]
    if (void* const block = allocate(operation, size, 0, call); block != nullptr) return block;
  return new_of_runtime(operation, size, arguments...);
}

template <class... Arguments>
void* allocate_new(Operation operation, std::size_t size, std::align_val_t alignment, Arguments... arguments) {
  const auto bytes = static_cast<std::size_t>(alignment);
  const auto call = [=] { return call_aligned(bytes, size); };
  if (is_ours()) [[likely]]
    if (void* const block = allocate(operation, size, bytes, call); block != nullptr) return block;
  return new_of_runtime(operation, size, alignment, arguments...);
}

// `arguments`: those that the runtime's operator takes after the block.
template <class... Arguments>
void free_delete(Operation operation, void* block, std::size_t size, std::size_t alignment, Arguments... arguments) {
  if (is_ours() || early_blocks.owns(block)) [[likely]]
    return free_block(operation, block, size, alignment);
  if (void* const function = operator_of_runtime(operation); function != nullptr)
    reinterpret_cast<void (*)(void*, Arguments...)>(function)(block, arguments...);
  else
    free_block(operation, block, size, alignment);
}

std::size_t bytes_of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

}  // namespace snug::recorder

using namespace snug::recorder;  // NOLINT: operators stand in the global namespace

using NoThrow = const std::nothrow_t&;

RECORDER_EXPORT void* operator new(std::size_t size) { return allocate_new(kNew, size); }
RECORDER_EXPORT void* operator new[](std::size_t size) { return allocate_new(kNewArray, size); }
RECORDER_EXPORT void* operator new(std::size_t size, NoThrow mark) noexcept {
  return allocate_new<NoThrow>(kNewNothrow, size, mark);
}
RECORDER_EXPORT void* operator new[](std::size_t size, NoThrow mark) noexcept {
  return allocate_new<NoThrow>(kNewArrayNothrow, size, mark);
}
RECORDER_EXPORT void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_new(kNewAligned, size, alignment);
}
RECORDER_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_new(kNewArrayAligned, size, alignment);
}
RECORDER_EXPORT void* operator new(std::size_t size, std::align_val_t alignment, NoThrow mark) noexcept {
  return allocate_new<NoThrow>(kNewAlignedNothrow, size, alignment, mark);
}
RECORDER_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment, NoThrow mark) noexcept {
  return allocate_new<NoThrow>(kNewArrayAlignedNothrow, size, alignment, mark);
}

RECORDER_EXPORT void operator delete(void* block) noexcept { free_delete(kDelete, block, 0, 0); }
RECORDER_EXPORT void operator delete[](void* block) noexcept { free_delete(kDeleteArray, block, 0, 0); }
RECORDER_EXPORT void operator delete(void* block, NoThrow mark) noexcept {
  free_delete<NoThrow>(kDeleteNothrow, block, 0, 0, mark);
}
RECORDER_EXPORT void operator delete[](void* block, NoThrow mark) noexcept {
  free_delete<NoThrow>(kDeleteArrayNothrow, block, 0, 0, mark);
}
RECORDER_EXPORT void operator delete(void* block, std::size_t size) noexcept {
  free_delete(kDeleteSized, block, size, 0, size);
}
RECORDER_EXPORT void operator delete[](void* block, std::size_t size) noexcept {
  free_delete(kDeleteArraySized, block, size, 0, size);
}
RECORDER_EXPORT void operator delete(void* block, std::align_val_t alignment) noexcept {
  free_delete(kDeleteAligned, block, 0, bytes_of(alignment), alignment);
}
RECORDER_EXPORT void operator delete[](void* block, std::align_val_t alignment) noexcept {
  free_delete(kDeleteArrayAligned, block, 0, bytes_of(alignment), alignment);
}
RECORDER_EXPORT void operator delete(void* block, std::align_val_t alignment, NoThrow mark) noexcept {
  free_delete<std::align_val_t, NoThrow>(kDeleteAlignedNothrow, block, 0, bytes_of(alignment), alignment, mark);
}
RECORDER_EXPORT void operator delete[](void* block, std::align_val_t alignment, NoThrow mark) noexcept {
  free_delete<std::align_val_t, NoThrow>(kDeleteArrayAlignedNothrow, block, 0, bytes_of(alignment), alignment, mark);
}
RECORDER_EXPORT void operator delete(void* block, std::size_t size, std::align_val_t alignment) noexcept {
  free_delete(kDeleteSizedAligned, block, size, bytes_of(alignment), size, alignment);
}
RECORDER_EXPORT void operator delete[](void* block, std::size_t size, std::align_val_t alignment) noexcept {
  free_delete(kDeleteArraySizedAligned, block, size, bytes_of(alignment), size, alignment);
}
