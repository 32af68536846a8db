// subject_static.cc: the subject is libsnug.a, by its prefixed names; the process's own malloc stays glibc's or the
// sanitizer's.
#include "subject.h"

namespace subject {

Kind kind() { return Kind::kSnug; }
const char* name() { return "snug"; }
const char* object() { return "libsnug.a"; }
bool owns(const char*) { return true; }
bool take_stats(snug_stats& stats) { return snug_get_stats(&stats) == 0; }
bool set(const char* settings) { return snug_set(settings) == 0; }
const char* check() { return snug_check(1); }

void* malloc(std::size_t size) { return snug_malloc(size); }
void* calloc(std::size_t count, std::size_t size) { return snug_calloc(count, size); }
void* realloc(void* block, std::size_t size) { return snug_realloc(block, size); }
void* reallocarray(void* block, std::size_t count, std::size_t size) { return snug_reallocarray(block, count, size); }
void free(void* block) { snug_free(block); }
void free_sized(void* block, std::size_t size) { snug_free_sized(block, size); }
void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) {
  snug_free_aligned_sized(block, alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return snug_aligned_alloc(alignment, size); }
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  return snug_posix_memalign(block, alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) { return snug_memalign(alignment, size); }
void* valloc(std::size_t size) { return snug_valloc(size); }
void* pvalloc(std::size_t size) { return snug_pvalloc(size); }
std::size_t malloc_usable_size(void* block) { return snug_malloc_usable_size(block); }
int malloc_trim(std::size_t pad) { return snug_malloc_trim(pad); }
MallocInfo mallinfo2() { return snug_mallinfo2(); }
void malloc_stats() { snug_malloc_stats(); }
int malloc_info(int options, std::FILE* stream) { return snug_malloc_info(options, stream); }
int mallopt(int parameter, int value) { return snug_mallopt(parameter, value); }

}  // namespace subject
