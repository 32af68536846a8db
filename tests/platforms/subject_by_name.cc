// subject_by_name.cc: the subject is the process's malloc family, by names that this file declares itself: glibc before
// 2.33 and musl lack some of them, and a static program has no dynamic linker to ask.
#include "subject.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>

// The references are weak, so that a program which snug does not serve starts, and says so.
extern "C" {
__attribute__((weak)) void free_sized(void* block, std::size_t size);
__attribute__((weak)) void free_aligned_sized(void* block, std::size_t alignment, std::size_t size);
// By a name of this file's, as headers declare it in several ways or, of glibc before 2.26 and 2.33, not at all.
__attribute__((weak)) void* any_reallocarray(void* block, std::size_t count, std::size_t size) __asm__("reallocarray");
__attribute__((weak)) struct mallinfo2 any_mallinfo2() __asm__("mallinfo2");
__attribute__((weak)) int snug_get_stats(snug_stats* stats);
__attribute__((weak)) const char* snug_check(int deep);
}

namespace subject {
namespace {

const char* object_of(const void* address) {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fname : "";
}

// In a static program, of which there is no object but itself, dladdr() fails.
bool is_static() { return object_of(reinterpret_cast<const void*>(&is_static))[0] == 0; }

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

}  // namespace

const char* object() { return is_static() ? "libsnug_malloc.a" : object_of(dlsym(RTLD_DEFAULT, "malloc")); }

Kind kind() {
  const char* file = file_name(object());
  if (std::strncmp(file, "libsnug", 7) == 0 && &snug_get_stats != nullptr) return Kind::kSnug;
  return Kind::kOther;
}

const char* name() { return kind() == Kind::kSnug ? "snug" : file_name(object()); }

bool owns(const char* function) {
  if (is_static()) return &snug_get_stats != nullptr;
  const void* address = dlsym(RTLD_DEFAULT, function);
  return address != nullptr && std::strcmp(object_of(address), object()) == 0;
}

bool take_stats(snug_stats& stats) { return &snug_get_stats != nullptr && snug_get_stats(&stats) == 0; }
const char* check() { return &snug_check != nullptr ? snug_check(1) : nullptr; }

void* malloc(std::size_t size) { return ::malloc(size); }
void* calloc(std::size_t count, std::size_t size) { return ::calloc(count, size); }
void* realloc(void* block, std::size_t size) { return ::realloc(block, size); }
void* reallocarray(void* block, std::size_t count, std::size_t size) { return any_reallocarray(block, count, size); }
void free(void* block) { ::free(block); }
void free_sized(void* block, std::size_t size) { ::free_sized(block, size); }
void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) {
  ::free_aligned_sized(block, alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return ::aligned_alloc(alignment, size); }
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  return ::posix_memalign(block, alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) { return ::memalign(alignment, size); }
void* valloc(std::size_t size) { return ::valloc(size); }
void* pvalloc(std::size_t size) { return ::pvalloc(size); }
std::size_t malloc_usable_size(void* block) { return ::malloc_usable_size(block); }
int malloc_trim(std::size_t pad) { return ::malloc_trim(pad); }

MallocInfo mallinfo2() {
  const struct ::mallinfo2 info = any_mallinfo2();
  return {info.arena,   info.ordblks, info.smblks,   info.hblks,    info.hblkhd,
          info.usmblks, info.fsmblks, info.uordblks, info.fordblks, info.keepcost};
}

void malloc_stats() { ::malloc_stats(); }
int malloc_info(int options, std::FILE* stream) { return ::malloc_info(options, stream); }
int mallopt(int parameter, int value) { return ::mallopt(parameter, value); }

}  // namespace subject
