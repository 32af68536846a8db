// A field of a file that the kernel writes of this process, as VmRSS in /proc/self/status.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace workload {

// The number behind the field's name, in kB. Reads with plain system calls: fopen would allocate. Nothing if there is
// no such file or field in it.
inline std::optional<size_t> proc_field_kib(const char* path, const char* field) {
  char text[4096];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  size_t length = 0;
  while (length < sizeof text - 1) {
    const ssize_t n = read(file, text + length, sizeof text - 1 - length);
    if (n <= 0) break;
    length += static_cast<size_t>(n);
  }
  close(file);
  text[length] = '\0';
  const char* const at = std::strstr(text, field);
  if (at == nullptr) return std::nullopt;
  return std::strtoull(at + std::strlen(field), nullptr, 10);
}

}  // namespace workload
