// What the statistics functions of glibc return: struct mallinfo and struct mallinfo2, in its layout also where libc
// has none.
#pragma once

#include <malloc.h>
#include <stddef.h>

#include "os/libc_features.h"

#if !SNUG_IS_GLIBC
struct mallinfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
#endif
