#include "os/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/system_call.h"

namespace snug::os {

FileIdentity identity_of(long descriptor) {
  struct stat status{};
  if (system_call(SYS_newfstatat, descriptor, "", &status, AT_EMPTY_PATH) != 0) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace snug::os
