// All replaceable forms of operator new and delete. `new` must call the program's new handler, throw, and in its
// nothrow forms catch; yet the library must not require a C++ runtime. So all references to the runtime are weak, and
// resolve only if the program has one: without it no code can throw. The only file that is compiled with exceptions.
#include <dlfcn.h>
#include <stdlib.h>

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/fixed_array.h"

// What the forms are told apart by. The compiler knows these types, and <new> declares the same.
namespace std {
enum class align_val_t : size_t {};
struct nothrow_t {
  explicit nothrow_t() = default;
};
using new_handler = void (*)();
}  // namespace std

// libstdc++ exports it, and declares it only to itself; throws std::bad_alloc.
[[noreturn]] SNUG_WEAK_IMPORT void snug_weak_throw_bad_alloc() SNUG_ASM_NAME("_ZSt17__throw_bad_allocv");

// The same function as std::get_new_handler, as a weak reference.
SNUG_WEAK_IMPORT std::new_handler snug_weak_get_new_handler() SNUG_ASM_NAME("_ZSt15get_new_handlerv");

SNUG_WEAK_REFERENCE("__gxx_personality_v0");
SNUG_WEAK_REFERENCE("__cxa_begin_catch");
SNUG_WEAK_REFERENCE("__cxa_end_catch");
SNUG_WEAK_REFERENCE("_Unwind_Resume");
SNUG_WEAK_REFERENCE("__cxa_call_unexpected");
SNUG_WEAK_REFERENCE("_ZSt9terminatev");

namespace {

// A function of a C++ runtime that came with a plugin after this library was loaded: null if there is none.
void* find_in_late_runtime(const char* symbol) {
  for (const char* library : snug::FixedArray{"libstdc++.so.6", "libc++.so.1"})
    if (void* runtime = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD); runtime != nullptr)
      if (void* function = ::dlsym(runtime, symbol); function != nullptr) return function;
  return nullptr;
}

std::new_handler current_handler() {
  using GetHandler = std::new_handler (*)();
  auto get = &snug_weak_get_new_handler != nullptr
                 ? &snug_weak_get_new_handler
                 : reinterpret_cast<GetHandler>(find_in_late_runtime("_ZSt15get_new_handlerv"));
  return get == nullptr ? nullptr : get();
}

[[noreturn]] void throw_bad_alloc() {
  using Throw = void (*)();
  auto thrower = &snug_weak_throw_bad_alloc != nullptr
                     ? &snug_weak_throw_bad_alloc
                     : reinterpret_cast<Throw>(find_in_late_runtime("_ZSt17__throw_bad_allocv"));
  if (thrower != nullptr) thrower();
  abort();  // a program without a C++ runtime cannot catch anything
}

using snug::BlockOrigin;

template <BlockOrigin origin>
SNUG_ALWAYS_INLINE void* allocate_anew(size_t size) {
  return snug::allocate<snug::allocate_slow, snug::allocate_large<origin>>(size);
}

// The behaviour of `new` after a refusal: calls the handler and tries again until there is memory or no handler is set.
template <class Attempt>
SNUG_COLD void* retry_new(Attempt attempt) {
  for (;;) {
    const std::new_handler handler = current_handler();
    if (handler == nullptr) throw_bad_alloc();
    handler();
    if (void* block = attempt(); block != nullptr) return block;
  }
}

template <BlockOrigin origin>
SNUG_COLD void* retry_new_of(size_t size) {
  return retry_new([size] { return allocate_anew<origin>(size); });
}

// The same for the nothrow forms: returns null where the others throw, and also if the handler throws.
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

template <BlockOrigin origin>
SNUG_COLD void* retry_nothrow_of(size_t size) noexcept {
  return retry_nothrow([size] { return allocate_anew<origin>(size); });
}

// The slow paths of the forms that take only a size. A retry may request the largest size of the step.
template <void* (&retry)(size_t)>
SNUG_COLD void* new_slow(snug::HeadStep step) {
  SNUG_KEEP_FRAME();  // the stack of a guarded block leads through here
  void* block = snug::allocate_slow(step);
  return block != nullptr ? block : retry(snug::size_of_step(step));
}
// Called if the allocator is not open yet, or every block is checked.
template <BlockOrigin origin, void* (&retry)(size_t)>
SNUG_COLD void* new_large_again(size_t size) {
  SNUG_KEEP_FRAME();  // the stack of a checked block leads through here
  void* block = snug::allocate_large<origin>(size);
  return block != nullptr ? block : retry(size);
}
template <BlockOrigin origin, void* (&retry)(size_t)>
SNUG_COLD void* new_large(size_t size) {
  void* block = snug::allocate_large_if_plain(size);
  if (block != nullptr) return block;
  return snug::allocator.is_plain() ? retry(size) : new_large_again<origin, retry>(size);
}

template <BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_null(size_t size) {
  return snug::allocate<new_slow<retry_nothrow_of<origin>>, new_large<origin, retry_nothrow_of<origin>>>(size);
}
template <BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_null(size_t size, std::align_val_t alignment) {
  SNUG_KEEP_FRAME();
  const size_t bytes = static_cast<size_t>(alignment);
  if (!snug::is_power_of_two(bytes)) return nullptr;
  void* block = snug::allocate_aligned(bytes, size, origin);
  return block != nullptr ? block : retry_nothrow([=] { return snug::allocate_aligned(bytes, size, origin); });
}
template <BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_throw(size_t size) {
  return snug::allocate<new_slow<retry_new_of<origin>>, new_large<origin, retry_new_of<origin>>>(size);
}
template <BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_throw(size_t size, std::align_val_t alignment) {
  SNUG_KEEP_FRAME();
  const size_t bytes = static_cast<size_t>(alignment);
  if (!snug::is_power_of_two(bytes)) throw_bad_alloc();
  void* block = snug::allocate_aligned(bytes, size, origin);
  return block != nullptr ? block : retry_new([=] { return snug::allocate_aligned(bytes, size, origin); });
}

constexpr BlockOrigin kOne = BlockOrigin::kNew;
constexpr BlockOrigin kArray = BlockOrigin::kNewArray;

}  // namespace

SNUG_EXPORT void* operator new(size_t size) { return new_or_throw<kOne>(size); }
SNUG_EXPORT void* operator new[](size_t size) { return new_or_throw<kArray>(size); }
SNUG_EXPORT void* operator new(size_t size, std::align_val_t alignment) { return new_or_throw<kOne>(size, alignment); }
SNUG_EXPORT void* operator new[](size_t size, std::align_val_t alignment) {
  return new_or_throw<kArray>(size, alignment);
}
SNUG_EXPORT void* operator new(size_t size, const std::nothrow_t&) noexcept { return new_or_null<kOne>(size); }
SNUG_EXPORT void* operator new[](size_t size, const std::nothrow_t&) noexcept { return new_or_null<kArray>(size); }
SNUG_EXPORT void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_or_null<kOne>(size, alignment);
}
SNUG_EXPORT void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_or_null<kArray>(size, alignment);
}

SNUG_EXPORT void operator delete(void* block) noexcept { snug::deallocate<kOne>(block); }
SNUG_EXPORT void operator delete[](void* block) noexcept { snug::deallocate<kArray>(block); }
SNUG_EXPORT void operator delete(void* block, size_t size) noexcept { snug::deallocate_sized<kOne>(block, size); }
SNUG_EXPORT void operator delete[](void* block, size_t size) noexcept { snug::deallocate_sized<kArray>(block, size); }
SNUG_EXPORT void operator delete(void* block, std::align_val_t) noexcept { snug::deallocate<kOne>(block); }
SNUG_EXPORT void operator delete[](void* block, std::align_val_t) noexcept { snug::deallocate<kArray>(block); }
SNUG_EXPORT void operator delete(void* block, size_t size, std::align_val_t) noexcept {
  snug::deallocate_told<kOne>(block, size);
}
SNUG_EXPORT void operator delete[](void* block, size_t size, std::align_val_t) noexcept {
  snug::deallocate_told<kArray>(block, size);
}
SNUG_EXPORT void operator delete(void* block, const std::nothrow_t&) noexcept { snug::deallocate<kOne>(block); }
SNUG_EXPORT void operator delete[](void* block, const std::nothrow_t&) noexcept { snug::deallocate<kArray>(block); }
SNUG_EXPORT void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  snug::deallocate<kOne>(block);
}
SNUG_EXPORT void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  snug::deallocate<kArray>(block);
}
