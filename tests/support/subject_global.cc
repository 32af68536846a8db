// subject_global.cc: the subject is the global malloc family of this process.
#include "subject.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>

namespace subject {
namespace {

const char* object_of(const void* address) {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fname : "";
}

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// Resolves late: what glibc 2.36 lacks (free_sized, cfree) must not be a link error.
template <class Function>
Function* resolve(const char* function) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, function));
}

}  // namespace

const char* object() { return object_of(dlsym(RTLD_DEFAULT, "malloc")); }

Kind kind() {
  const char* file = file_name(object());
  if (std::strncmp(file, "libsnug", 7) == 0) return Kind::kSnug;
  if (std::strncmp(file, "libc.so", 7) == 0) return Kind::kGlibc;
  return Kind::kOther;
}

const char* name() {
  switch (kind()) {
    case Kind::kSnug:
      return "snug";
    case Kind::kGlibc:
      return "glibc";
    case Kind::kOther:
      break;
  }
  return file_name(object());
}

bool owns(const char* function) {
  const void* address = dlsym(RTLD_DEFAULT, function);
  return address != nullptr && std::strcmp(object_of(address), object()) == 0;
}

bool take_stats(snug_stats& stats) {
  auto* get = resolve<decltype(snug_get_stats)>("snug_get_stats");
  return get != nullptr && get(&stats) == 0;
}

bool set(const char* settings) {
  auto* change = resolve<decltype(snug_set)>("snug_set");
  return change != nullptr && change(settings) == 0;
}

const char* check() {
  auto* all = resolve<decltype(snug_check)>("snug_check");
  return all != nullptr ? all(1) : nullptr;
}

void* malloc(std::size_t size) { return ::malloc(size); }
void* calloc(std::size_t count, std::size_t size) { return ::calloc(count, size); }
void* realloc(void* block, std::size_t size) { return ::realloc(block, size); }
void* reallocarray(void* block, std::size_t count, std::size_t size) { return ::reallocarray(block, count, size); }
void free(void* block) { ::free(block); }
void free_sized(void* block, std::size_t size) { resolve<decltype(snug_free_sized)>("free_sized")(block, size); }
void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) {
  resolve<decltype(snug_free_aligned_sized)>("free_aligned_sized")(block, alignment, size);
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
  const struct ::mallinfo2 info = ::mallinfo2();
  return {info.arena,   info.ordblks, info.smblks,   info.hblks,    info.hblkhd,
          info.usmblks, info.fsmblks, info.uordblks, info.fordblks, info.keepcost};
}

void malloc_stats() { ::malloc_stats(); }
int malloc_info(int options, std::FILE* stream) { return ::malloc_info(options, stream); }
int mallopt(int parameter, int value) { return ::mallopt(parameter, value); }

}  // namespace subject
