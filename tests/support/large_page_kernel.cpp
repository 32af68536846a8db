// In a program that has this linked in, and --wrap=getauxval and --wrap=syscall, snug finds a kernel with pages of
// 64 KiB: it says so, refuses addresses that are no multiple of that as such a kernel does, and rounds lengths up, to
// the harm of what lies behind. Addresses that the kernel chooses are such multiples too. What the program itself asks
// by libc is left alone, but for what it asks by syscall().
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

extern "C" {
unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long first, long second, long third, long fourth, long fifth, long sixth);
}

namespace {

constexpr long kPage = 65536;

constexpr long rounded(long bytes) { return (bytes + kPage - 1) / kPage * kPage; }

long refused() {
  errno = EINVAL;
  return -1;
}

// A mapping without a place, or with one that is taken: the kernel would choose a multiple of its page.
long map_anywhere(long bytes, long protection, long flags, long file, long offset) {
  const long whole = __real_syscall(SYS_mmap, 0, bytes + kPage, protection, flags, file, offset);
  if (whole == -1) return -1;
  const long start = rounded(whole);
  if (start == whole || file == -1) {
    if (start != whole) __real_syscall(SYS_munmap, whole, start - whole);
    if (start + bytes != whole + bytes + kPage) __real_syscall(SYS_munmap, start + bytes, whole + kPage - start);
    return start;
  }
  __real_syscall(SYS_munmap, whole, bytes + kPage);
  return __real_syscall(SYS_mmap, start, bytes, protection, flags | MAP_FIXED, file, offset);
}

long map(long place, long bytes, long protection, long flags, long file, long offset) {
  const bool is_fixed = (flags & MAP_FIXED) != 0;
  if (is_fixed && place % kPage != 0) return refused();
  if (is_fixed) return __real_syscall(SYS_mmap, place, rounded(bytes), protection, flags, file, offset);
  if (place != 0) {
    const long start = __real_syscall(SYS_mmap, place / kPage * kPage, rounded(bytes), protection, flags, file, offset);
    if (start == -1 || start % kPage == 0) return start;
    __real_syscall(SYS_munmap, start, rounded(bytes));
  }
  return map_anywhere(rounded(bytes), protection, flags, file, offset);
}

long remap(long start, long had, long bytes, long flags, long place) {
  if (start % kPage != 0) return refused();
  had = rounded(had);
  bytes = rounded(bytes);
  if ((flags & MREMAP_FIXED) != 0)
    return place % kPage != 0 ? refused() : __real_syscall(SYS_mremap, start, had, bytes, flags, place);
  const long stays = __real_syscall(SYS_mremap, start, had, bytes, 0);
  if (stays != -1 || (flags & MREMAP_MAYMOVE) == 0) return stays;
  const long fresh = map_anywhere(bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == -1) return -1;
  return __real_syscall(SYS_mremap, start, had, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, fresh);
}

}  // namespace

unsigned long __wrap_getauxval(unsigned long type) { return type == AT_PAGESZ ? kPage : __real_getauxval(type); }

long __wrap_syscall(long number, long first, long second, long third, long fourth, long fifth, long sixth) {
  switch (number) {
    case SYS_mmap:
      return map(first, second, third, fourth, static_cast<int>(fifth), sixth);
    case SYS_mremap:
      return remap(first, second, third, fourth, fifth);
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_madvise:
      return first % kPage != 0 ? refused() : __real_syscall(number, first, rounded(second), third);
    case SYS_mbind:
      return first % kPage != 0 ? refused()
                                : __real_syscall(number, first, rounded(second), third, fourth, fifth, sixth);
    default:
      return __real_syscall(number, first, second, third, fourth, fifth, sixth);
  }
}

namespace snug {

// In place of the library's own (src/base/system_call.h); weak, for programs with one that counts or refuses calls and
// leads here as well.
long call_kernel(long number, long first, long second, long third, long fourth, long fifth, long sixth);

__attribute__((weak)) long call_kernel(long number, long first, long second, long third, long fourth, long fifth,
                                       long sixth) {
  const int before = errno;
  long answer = __wrap_syscall(number, first, second, third, fourth, fifth, sixth);
  if (answer == -1) answer = -errno;
  errno = before;
  return answer;
}

}  // namespace snug
