#include "base/system_call.h"

#if !defined(__x86_64__)
#include <unistd.h>

#include <cerrno>

#include "base/errno_keeper.h"
#endif

namespace snug {

long call_kernel(long number, long first, long second, long third, long fourth, long fifth, long sixth) {
#if defined(__x86_64__)
  register long in_r10 __asm__("r10") = fourth;
  register long in_r8 __asm__("r8") = fifth;
  register long in_r9 __asm__("r9") = sixth;
  long answer = number;
  __asm__ volatile("syscall"
                   : "+a"(answer)
                   : "D"(first), "S"(second), "d"(third), "r"(in_r10), "r"(in_r8), "r"(in_r9)
                   : "rcx", "r11", "memory");
  return answer;
#else
  // Through libc: nothing tells these calls from the program's own.
  const ErrnoKeeper keeper;
  const long answer = ::syscall(number, first, second, third, fourth, fifth, sixth);
  return answer == -1 ? -errno : answer;
#endif
}

}  // namespace snug
