#include "os/readable.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/system_call.h"

namespace snug::os {

// The kernel reads the new mask, here the word, before it rejects the operation, here an invalid one. For null it reads
// none.
bool is_readable(const void* word) {
  constexpr int kNothing = -1;
  constexpr size_t kMaskBytes = 8;
  return word != nullptr && system_call(SYS_rt_sigprocmask, kNothing, word, nullptr, kMaskBytes) != -EFAULT;
}

}  // namespace snug::os
