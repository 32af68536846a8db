/* large_pages.c: stands before libc and says that the kernel told the program of pages of 128 KiB. */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/auxv.h>

unsigned long getauxval(unsigned long type) {
  if (type == AT_PAGESZ) return 131072;
  unsigned long (*const next)(unsigned long) = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
  return next == NULL ? 0 : next(type);
}
