// All replaceable forms of operator new and delete. `new` must call the program's new handler, throw, and in its nothrow
// forms catch; yet the library may need no C++ runtime. So everything of the runtime is a weak reference, there if the
// program has one at all: without it nothing can throw. The one file that is compiled with exceptions.
#include <cstdlib>
#include <new>

#include "base/compiler.h"
#include "heap/allocator.h"

namespace std {
// libstdc++ exports it, declares it only inside itself; throws std::bad_alloc.
[[noreturn]] SNUG_WEAK void __throw_bad_alloc();
}  // namespace std

// The same function as std::get_new_handler, as a weak reference.
SNUG_WEAK std::new_handler snug_weak_get_new_handler() SNUG_ASM_NAME("_ZSt15get_new_handlerv");

SNUG_WEAK_REFERENCE("__gxx_personality_v0");
SNUG_WEAK_REFERENCE("__cxa_begin_catch");
SNUG_WEAK_REFERENCE("__cxa_end_catch");
SNUG_WEAK_REFERENCE("_Unwind_Resume");
SNUG_WEAK_REFERENCE("__cxa_call_unexpected");
SNUG_WEAK_REFERENCE("_ZSt9terminatev");

namespace {

std::new_handler current_handler() {
  return &snug_weak_get_new_handler == nullptr ? nullptr : snug_weak_get_new_handler();
}

// What `new` does after a refusal: calls the handler and tries again until memory is there or no handler is set.
template <class Attempt>
SNUG_COLD void* retry_new(Attempt attempt) {
  for (;;) {
    const std::new_handler handler = current_handler();
    if (handler == nullptr) {
      if (&std::__throw_bad_alloc != nullptr) std::__throw_bad_alloc();
      std::abort();  // a program without a C++ runtime cannot catch anything
    }
    handler();
    if (void* block = attempt(); block != nullptr) return block;
  }
}

SNUG_COLD void* retry_new_of(size_t size) {
  return retry_new([size] { return snug::allocate(size); });
}

SNUG_COLD void* retry_new_of(size_t size, std::align_val_t alignment) {
  return retry_new([=] { return snug::allocate_aligned(static_cast<size_t>(alignment), size); });
}

// What the nothrow forms do: the same, but null where the others throw, and null too if the handler throws.
template <class Attempt>
SNUG_COLD void* retry_nothrow(Attempt attempt) noexcept {
  try {
    while (const std::new_handler handler = current_handler()) {
      handler();
      if (void* block = attempt(); block != nullptr) return block;
    }
  } catch (...) {
  }
  return nullptr;
}

SNUG_ALWAYS_INLINE void* new_or_null(size_t size) {
  void* block = snug::allocate(size);
  return block != nullptr ? block : retry_nothrow([size] { return snug::allocate(size); });
}
SNUG_ALWAYS_INLINE void* new_or_null(size_t size, std::align_val_t alignment) {
  const size_t bytes = static_cast<size_t>(alignment);
  void* block = snug::allocate_aligned(bytes, size);
  return block != nullptr ? block : retry_nothrow([=] { return snug::allocate_aligned(bytes, size); });
}
SNUG_ALWAYS_INLINE void* new_or_throw(size_t size) {
  void* block = snug::allocate(size);
  return block != nullptr ? block : retry_new_of(size);
}
SNUG_ALWAYS_INLINE void* new_or_throw(size_t size, std::align_val_t alignment) {
  void* block = snug::allocate_aligned(static_cast<size_t>(alignment), size);
  return block != nullptr ? block : retry_new_of(size, alignment);
}

}  // namespace

SNUG_EXPORT void* operator new(size_t size) { return new_or_throw(size); }
SNUG_EXPORT void* operator new[](size_t size) { return new_or_throw(size); }
SNUG_EXPORT void* operator new(size_t size, std::align_val_t alignment) { return new_or_throw(size, alignment); }
SNUG_EXPORT void* operator new[](size_t size, std::align_val_t alignment) { return new_or_throw(size, alignment); }
SNUG_EXPORT void* operator new(size_t size, const std::nothrow_t&) noexcept { return new_or_null(size); }
SNUG_EXPORT void* operator new[](size_t size, const std::nothrow_t&) noexcept { return new_or_null(size); }
SNUG_EXPORT void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_or_null(size, alignment);
}
SNUG_EXPORT void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_or_null(size, alignment);
}

SNUG_EXPORT void operator delete(void* block) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete[](void* block) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete(void* block, size_t) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete[](void* block, size_t) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete(void* block, std::align_val_t) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete[](void* block, std::align_val_t) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete(void* block, size_t, std::align_val_t) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete[](void* block, size_t, std::align_val_t) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete(void* block, const std::nothrow_t&) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete[](void* block, const std::nothrow_t&) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept { snug::release(block); }
SNUG_EXPORT void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  snug::release(block);
}
