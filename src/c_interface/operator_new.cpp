// All replaceable forms of operator new and delete. `new` must call the program's new handler, throw, and in its
// nothrow forms catch; yet the library must not require a C++ runtime. So all references to the runtime are weak, and
// resolve only if the program has one: without it no code can throw. The only file that is compiled with exceptions.
//
// A program may replace some of the forms and leave others. C++ defines those for arrays, with a size and with nothrow
// by calls of the forms that allocate and free (new.delete in the standard): they are *derived*, and must call the
// program's where it has any. As the library is loaded it looks for them. Where all are its own, the derived forms take
// the inline paths; else each calls the form that defines it. All forms are weak, so that a program that is linked
// statically may replace some too.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/fixed_array.h"
#include "c_interface/program_symbols.h"

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
using snug::PathOf;

// The forms by which others are defined, as the program has them.
struct BaseForms {
  void* (*create)(size_t);
  void* (*create_array)(size_t);
  void* (*create_aligned)(size_t, std::align_val_t);
  void* (*create_array_aligned)(size_t, std::align_val_t);
  void (*release)(void*);
  void (*release_array)(void*);
  void (*release_aligned)(void*, std::align_val_t);
  void (*release_array_aligned)(void*, std::align_val_t);
};

// Null if all are this file's. Written as the library is loaded.
constinit snug::Atomic<const BaseForms*> replaced{nullptr};

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

// The slow paths of the derived forms. Where the program has replaced a form they are always taken.
template <auto base, BlockOrigin origin, void* (&retry)(size_t)>
SNUG_COLD void* new_derived(size_t size) {
  const BaseForms* const forms = replaced.load(snug::kAcquire);
  return forms != nullptr ? (forms->*base)(size) : new_large<origin, retry>(size);
}
// Calls a form that may throw for one that must not.
template <class Form, class... Arguments>
SNUG_COLD void* null_for_exception(Form form, Arguments... arguments) noexcept {
  try {
    return form(arguments...);
  } catch (...) {
    return nullptr;
  }
}
template <auto base, BlockOrigin origin>
SNUG_COLD void* new_nothrow_derived(size_t size) {
  const BaseForms* const forms = replaced.load(snug::kAcquire);
  return forms != nullptr ? null_for_exception(forms->*base, size) : new_large<origin, retry_nothrow_of<origin>>(size);
}
template <auto base, BlockOrigin fits>
SNUG_COLD void release_derived(void* block, size_t told) noexcept {
  const BaseForms* const forms = replaced.load(snug::kAcquire);
  return forms != nullptr ? (forms->*base)(block) : snug::deallocate_slow(block, fits, told);
}

template <auto base, BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_null(size_t size) {
  return snug::allocate<new_slow<retry_nothrow_of<origin>>, new_nothrow_derived<base, origin>,
                        PathOf::kDerivedOperator>(size);
}
template <auto base, BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_null(size_t size, std::align_val_t alignment) {
  SNUG_KEEP_FRAME();
  if (const BaseForms* const forms = replaced.load(snug::kAcquire); forms != nullptr) [[unlikely]]
    return null_for_exception(forms->*base, size, alignment);
  const size_t bytes = static_cast<size_t>(alignment);
  if (!snug::is_power_of_two(bytes)) return nullptr;
  void* block = snug::allocate_aligned(bytes, size, origin);
  return block != nullptr ? block : retry_nothrow([=] { return snug::allocate_aligned(bytes, size, origin); });
}
template <BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_throw(size_t size) {
  return snug::allocate<new_slow<retry_new_of<origin>>, new_large<origin, retry_new_of<origin>>>(size);
}
template <auto base, BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_throw(size_t size) {
  return snug::allocate<new_slow<retry_new_of<origin>>, new_derived<base, origin, retry_new_of<origin>>,
                        PathOf::kDerivedOperator>(size);
}
template <BlockOrigin origin>
SNUG_ALWAYS_INLINE void* new_or_throw(size_t size, std::align_val_t alignment) {
  SNUG_KEEP_FRAME();
  const size_t bytes = static_cast<size_t>(alignment);
  if (!snug::is_power_of_two(bytes)) throw_bad_alloc();
  void* block = snug::allocate_aligned(bytes, size, origin);
  return block != nullptr ? block : retry_new([=] { return snug::allocate_aligned(bytes, size, origin); });
}

template <auto base, BlockOrigin fits>
SNUG_ALWAYS_INLINE void release(void* block) {
  snug::deallocate_or<release_derived<base, fits>, PathOf::kDerivedOperator>(block, snug::kUntoldSize);
}
template <auto base, BlockOrigin fits>
SNUG_ALWAYS_INLINE void release(void* block, size_t size) {
  snug::deallocate_sized_or<release_derived<base, fits>>(block, size);
}
template <auto base, BlockOrigin fits>
SNUG_ALWAYS_INLINE void release(void* block, std::align_val_t alignment, size_t told = snug::kUntoldSize) {
  if (const BaseForms* const forms = replaced.load(snug::kAcquire); forms != nullptr) [[unlikely]]
    return (forms->*base)(block, alignment);
  snug::deallocate_told<fits>(block, told);
}

constexpr BlockOrigin kOne = BlockOrigin::kNew;
constexpr BlockOrigin kArray = BlockOrigin::kNewArray;

}  // namespace

// The forms that define others.
SNUG_WEAK_EXPORT void* operator new(size_t size) { return new_or_throw<kOne>(size); }
SNUG_WEAK_EXPORT void* operator new(size_t size, std::align_val_t alignment) {
  return new_or_throw<kOne>(size, alignment);
}
SNUG_WEAK_EXPORT void operator delete(void* block) noexcept { snug::deallocate<kOne>(block); }
SNUG_WEAK_EXPORT void operator delete(void* block, std::align_val_t) noexcept { snug::deallocate<kOne>(block); }

// Derived forms, of which those for arrays define others too.
SNUG_WEAK_EXPORT void* operator new[](size_t size) { return new_or_throw<&BaseForms::create, kArray>(size); }
SNUG_WEAK_EXPORT void* operator new[](size_t size, std::align_val_t alignment) {
  if (const BaseForms* const forms = replaced.load(snug::kAcquire); forms != nullptr) [[unlikely]]
    return forms->create_aligned(size, alignment);
  return new_or_throw<kArray>(size, alignment);
}
SNUG_WEAK_EXPORT void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return new_or_null<&BaseForms::create, kOne>(size);
}
SNUG_WEAK_EXPORT void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return new_or_null<&BaseForms::create_array, kArray>(size);
}
SNUG_WEAK_EXPORT void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_or_null<&BaseForms::create_aligned, kOne>(size, alignment);
}
SNUG_WEAK_EXPORT void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_or_null<&BaseForms::create_array_aligned, kArray>(size, alignment);
}

SNUG_WEAK_EXPORT void operator delete[](void* block) noexcept { release<&BaseForms::release, kArray>(block); }
SNUG_WEAK_EXPORT void operator delete[](void* block, std::align_val_t alignment) noexcept {
  release<&BaseForms::release_aligned, kArray>(block, alignment);
}
SNUG_WEAK_EXPORT void operator delete(void* block, size_t size) noexcept {
  release<&BaseForms::release, kOne>(block, size);
}
SNUG_WEAK_EXPORT void operator delete[](void* block, size_t size) noexcept {
  release<&BaseForms::release_array, kArray>(block, size);
}
SNUG_WEAK_EXPORT void operator delete(void* block, size_t size, std::align_val_t alignment) noexcept {
  release<&BaseForms::release_aligned, kOne>(block, alignment, size);
}
SNUG_WEAK_EXPORT void operator delete[](void* block, size_t size, std::align_val_t alignment) noexcept {
  release<&BaseForms::release_array_aligned, kArray>(block, alignment, size);
}
SNUG_WEAK_EXPORT void operator delete(void* block, const std::nothrow_t&) noexcept {
  release<&BaseForms::release, kOne>(block);
}
SNUG_WEAK_EXPORT void operator delete[](void* block, const std::nothrow_t&) noexcept {
  release<&BaseForms::release_array, kArray>(block);
}
SNUG_WEAK_EXPORT void operator delete(void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  release<&BaseForms::release_aligned, kOne>(block, alignment);
}
SNUG_WEAK_EXPORT void operator delete[](void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  release<&BaseForms::release_array_aligned, kArray>(block, alignment);
}

// The base forms by names that nothing replaces.
extern "C" {
SNUG_HIDDEN void* snug_own_create(size_t);
SNUG_HIDDEN void* snug_own_create_array(size_t);
SNUG_HIDDEN void* snug_own_create_aligned(size_t, std::align_val_t);
SNUG_HIDDEN void* snug_own_create_array_aligned(size_t, std::align_val_t);
SNUG_HIDDEN void snug_own_release(void*);
SNUG_HIDDEN void snug_own_release_array(void*);
SNUG_HIDDEN void snug_own_release_aligned(void*, std::align_val_t);
SNUG_HIDDEN void snug_own_release_array_aligned(void*, std::align_val_t);
}
SNUG_OWN_NAME("snug_own_create", "_Znwm");
SNUG_OWN_NAME("snug_own_create_array", "_Znam");
SNUG_OWN_NAME("snug_own_create_aligned", "_ZnwmSt11align_val_t");
SNUG_OWN_NAME("snug_own_create_array_aligned", "_ZnamSt11align_val_t");
SNUG_OWN_NAME("snug_own_release", "_ZdlPv");
SNUG_OWN_NAME("snug_own_release_array", "_ZdaPv");
SNUG_OWN_NAME("snug_own_release_aligned", "_ZdlPvSt11align_val_t");
SNUG_OWN_NAME("snug_own_release_array_aligned", "_ZdaPvSt11align_val_t");

namespace {

// Finds the form that the program has by the symbol: `linked`, unless this library was linked by itself and has bound
// its references to its own. True if that is not `own`.
template <class Form>
bool find_replaced(Form& found, Form own, Form linked, const char* symbol) {
  found = linked;
  // Opaque, as in the library as one file the compiler sees that it is there.
  if (snug::opaque(reinterpret_cast<uintptr_t>(&snug::find_in_program)) != 0)
    if (void* const first = snug::find_in_program(symbol); first != nullptr) found = reinterpret_cast<Form>(first);
  return found != own;
}

SNUG_AT_LOAD SNUG_USED void look_for_replaced_forms() {
  static constinit BaseForms forms{};
  bool any = false;
  const auto look = [&any]<class Form>(Form& found, Form own, Form linked, const char* symbol) {
    if (find_replaced(found, own, linked, symbol)) any = true;
  };
  look(forms.create, &snug_own_create, &::operator new, "_Znwm");
  look(forms.create_array, &snug_own_create_array, &::operator new[], "_Znam");
  look(forms.create_aligned, &snug_own_create_aligned, &::operator new, "_ZnwmSt11align_val_t");
  look(forms.create_array_aligned, &snug_own_create_array_aligned, &::operator new[], "_ZnamSt11align_val_t");
  look(forms.release, &snug_own_release, &::operator delete, "_ZdlPv");
  look(forms.release_array, &snug_own_release_array, &::operator delete[], "_ZdaPv");
  look(forms.release_aligned, &snug_own_release_aligned, &::operator delete, "_ZdlPvSt11align_val_t");
  look(forms.release_array_aligned, &snug_own_release_array_aligned, &::operator delete[], "_ZdaPvSt11align_val_t");
  if (any)
    replaced.store(&forms, snug::kRelease);
  else
    snug::allocator.let_derived_operators_in();
}

}  // namespace
