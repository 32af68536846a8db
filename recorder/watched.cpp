#include "recorder/watched.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "recorder/loader_memory.h"

namespace snug::recorder {

constinit Watched watched = {};
constinit std::atomic<bool> is_watched_known = false;
constinit EarlyBlocks early_blocks;

namespace {

constinit std::atomic<bool> is_somebody_at_it = false;

// Holds its own address as soon as the dynamic linker has relocated this library. The allocator, which is behind this
// library in the search order, is relocated first: before that, neither can be called.
constinit const volatile void* const volatile own_address = &own_address;

bool are_addresses_set() {
  const volatile void* here = &own_address;
  asm("" : "+r"(here));  // computed, and not what the compiler knows the other to hold
  return own_address == here;
}

using trace::Operation;

// Symbols by operation: forms of new, then of delete.
constexpr const char* kOperatorNames[] = {
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvm",
    "_ZdaPvm",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
};
constexpr std::size_t kOperators = sizeof kOperatorNames / sizeof *kOperatorNames;
constinit void* operators[kOperators] = {};

constexpr std::size_t place_of(Operation operation) {
  const auto code = static_cast<std::size_t>(operation);
  constexpr auto kFirstNew = static_cast<std::size_t>(Operation::kNew);
  constexpr auto kFirstDelete = static_cast<std::size_t>(Operation::kDelete);
  constexpr auto kForms = static_cast<std::size_t>(Operation::kNewArrayAlignedNothrow) - kFirstNew + 1;
  return code < kFirstDelete ? code - kFirstNew : code - kFirstDelete + kForms;
}
static_assert(place_of(Operation::kDelete) == 8 && place_of(Operation::kDeleteArraySizedAligned) == kOperators - 1);

void* next_function(const char* name) { return dlsym(RTLD_NEXT, name); }

template <class Function>
void look_up(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(next_function(name));
}

// For a function that no library need have: old C libraries and musl lack some.
template <class Function>
void look_up(Function*& function, const char* name, Function* otherwise) {
  look_up(function, name);
  if (function == nullptr) function = otherwise;
}

void* reallocate_array(void* block, std::size_t count, std::size_t bytes) {
  std::size_t whole = 0;
  if (!__builtin_mul_overflow(count, bytes, &whole)) return watched.realloc(block, whole);
  errno = ENOMEM;
  return nullptr;
}

void* refuse_block(std::size_t) {
  errno = ENOMEM;
  return nullptr;
}

bool are_of_one_file(void* function, void* other) {
  Dl_info one{};
  Dl_info two{};
  return dladdr(function, &one) != 0 && dladdr(other, &two) != 0 && one.dli_fbase == two.dli_fbase;
}

// True if these operators may serve. A program with its own operator new for one form expects the library's other forms
// to call it. A program with its own malloc expects all forms to use that heap, not the allocator behind this library.
bool are_operators_ours() {
  const auto is_ours = [](const char* name, void* ours) { return dlsym(RTLD_DEFAULT, name) == ours; };
  return is_ours("_Znwm", reinterpret_cast<void*>(static_cast<void* (*)(std::size_t)>(&::operator new))) &&
         is_ours("_ZdlPv", reinterpret_cast<void*>(static_cast<void (*)(void*) noexcept>(&::operator delete))) &&
         is_ours("malloc", reinterpret_cast<void*>(&::malloc)) && is_ours("free", reinterpret_cast<void*>(&::free));
}

}  // namespace

// A runtime that was loaded later, by dlopen, is looked up when it is needed: as a rule after a refusal.
void* operator_of_runtime(Operation operation) {
  const std::size_t place = place_of(operation);
  return operators[place] != nullptr ? operators[place] : next_function(kOperatorNames[place]);
}

bool prepare_watched() {
  if (!are_addresses_set() || is_somebody_at_it.exchange(true, std::memory_order_acquire))
    return is_watched_known.load(std::memory_order_acquire);
  find_loader_memory();
  look_up(watched.calloc, "calloc");
  look_up(watched.realloc, "realloc");
  look_up(watched.reallocarray, "reallocarray", &reallocate_array);
  look_up(watched.memalign, "memalign");
  look_up(watched.aligned_alloc, "aligned_alloc");
  look_up(watched.posix_memalign, "posix_memalign");
  look_up(watched.valloc, "valloc", &refuse_block);
  look_up(watched.pvalloc, "pvalloc", &refuse_block);
  look_up(watched.free, "free");
  look_up(watched.usable_size, "malloc_usable_size");
  look_up(watched.trim, "malloc_trim", +[](std::size_t) { return 0; });
  look_up(watched.mallinfo2, "mallinfo2");
  look_up(watched.malloc, "malloc");
  look_up(watched.mmap, "mmap");
  look_up(watched.mmap64, "mmap64", watched.mmap);
  look_up(watched.munmap, "munmap");
  look_up(watched.mremap, "mremap");
  look_up(watched.sbrk, "sbrk");
  look_up(watched.brk, "brk");
  look_up(watched.pthread_create, "pthread_create");
  look_up(watched.fork, "fork");
  look_up(watched.dlclose, "dlclose");
  for (std::size_t place = 0; place < kOperators; ++place) operators[place] = next_function(kOperatorNames[place]);
  const auto is_allocators = [](auto* function) {
    return are_of_one_file(reinterpret_cast<void*>(watched.malloc), reinterpret_cast<void*>(function));
  };
  watched.has_usable_size = is_allocators(watched.usable_size);
  watched.has_mallinfo = is_allocators(watched.mallinfo2);
  watched.has_our_operators = are_operators_ours();
  is_watched_known.store(true, std::memory_order_release);
  return true;
}

}  // namespace snug::recorder
