// subject.h: the allocator under test, behind one set of names.
//
// The conformance tests call subject::malloc and its kin, never malloc itself. Two translation units implement the
// names, one for each way to meet snug:
//   subject_global.cc   the process's global malloc family: glibc's, or that of a preloaded library;
//   subject_static.cc   the snug_-prefixed functions of libsnug.a, for builds where a sanitizer owns malloc.
// Because the calls cross a translation unit, the compiler can neither elide an allocation nor reason about its size.
#pragma once

#include <snug/snug.h>

#include <cstddef>
#include <cstdio>

#include "sanitized.h"

namespace subject {

enum class Kind { kSnug, kGlibc, kOther };

// Which allocator serves this process, asked of the dynamic linker; the environment proves nothing.
Kind kind();
const char* name();    // "snug", "glibc", or the file name of the library
const char* object();  // the file that holds malloc

// Whether `function` is served by the object that serves malloc. Blocks of one malloc family must not meet the
// functions of another (jemalloc has no pvalloc: glibc's would answer), so a test asks before it calls.
bool owns(const char* function);

// snug's own statistics; false where the subject is not snug.
bool take_stats(snug_stats& stats);
// snug_set(); false where the subject is not snug, or refuses.
bool set(const char* settings);
// snug_check(1): null if every invariant holds, or if the subject is not snug.
const char* check();

void* malloc(std::size_t size);
void* calloc(std::size_t count, std::size_t size);
void* realloc(void* block, std::size_t size);
void* reallocarray(void* block, std::size_t count, std::size_t size);
void free(void* block);
void free_sized(void* block, std::size_t size);
void free_aligned_sized(void* block, std::size_t alignment, std::size_t size);
void* aligned_alloc(std::size_t alignment, std::size_t size);
int posix_memalign(void** block, std::size_t alignment, std::size_t size);
void* memalign(std::size_t alignment, std::size_t size);
void* valloc(std::size_t size);
void* pvalloc(std::size_t size);
std::size_t malloc_usable_size(void* block);
int malloc_trim(std::size_t pad);
using MallocInfo = snug_mallinfo;
MallocInfo mallinfo2();
void malloc_stats();
int malloc_info(int options, std::FILE* stream);
int mallopt(int parameter, int value);

using ::support::kSanitized;

}  // namespace subject

// A promise that only snug makes.
#define SUBJECT_MUST_BE_SNUG()                                                        \
  do {                                                                                \
    if (subject::kind() != subject::Kind::kSnug) GTEST_SKIP() << "a promise of snug"; \
  } while (false)

// A function that other mallocs may lack; snug may not.
#define SUBJECT_MUST_OWN(function)                                                             \
  do {                                                                                         \
    if (!subject::owns(function)) {                                                            \
      if (subject::kind() == subject::Kind::kSnug) FAIL() << "snug must serve " << (function); \
      GTEST_SKIP() << subject::name() << " does not serve " << (function);                     \
    }                                                                                          \
  } while (false)
