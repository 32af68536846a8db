/* malloc.h: what glibc's header declares and musl's does not, for tests of what libsnug.so exports there all the same.
 * The functions are weak: a program of which nothing but musl serves malloc still starts. */
#pragma once
#include_next <malloc.h>
#include <stdio.h>

enum { M_TRIM_THRESHOLD = -1, M_MMAP_THRESHOLD = -3 };

#ifdef __cplusplus
extern "C" {
#endif
struct mallinfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
__attribute__((weak)) void* pvalloc(size_t size);
__attribute__((weak)) int malloc_trim(size_t pad);
__attribute__((weak)) struct mallinfo2 mallinfo2(void);
__attribute__((weak)) void malloc_stats(void);
__attribute__((weak)) int malloc_info(int options, FILE* stream);
__attribute__((weak)) int mallopt(int parameter, int value);
#ifdef __cplusplus
}
#endif
