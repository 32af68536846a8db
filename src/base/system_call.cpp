#include "base/system_call.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <unistd.h>

#include <errno.h>

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
#elif defined(__aarch64__)
  register long in_x8 __asm__("x8") = number;
  register long in_x0 __asm__("x0") = first;
  register long in_x1 __asm__("x1") = second;
  register long in_x2 __asm__("x2") = third;
  register long in_x3 __asm__("x3") = fourth;
  register long in_x4 __asm__("x4") = fifth;
  register long in_x5 __asm__("x5") = sixth;
  __asm__ volatile("svc #0"
                   : "+r"(in_x0)
                   : "r"(in_x8), "r"(in_x1), "r"(in_x2), "r"(in_x3), "r"(in_x4), "r"(in_x5)
                   : "memory");
  return in_x0;
#else
  // Through libc: nothing tells these calls from the program's own.
  const ErrnoKeeper keeper;
  const long answer = ::syscall(number, first, second, third, fourth, fifth, sixth);
  return answer == -1 ? -errno : answer;
#endif
}

}  // namespace snug
