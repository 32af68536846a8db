/* large_pages.c: stands before libc and says that the OS has pages of 64 KiB. */
#include <dlfcn.h>
#include <unistd.h>

long sysconf(int name) {
  if (name == _SC_PAGESIZE) return 65536;
  long (*const next)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
  return next == NULL ? -1 : next(name);
}
