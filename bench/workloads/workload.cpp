#include "workload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace workload {

Trim find_trim() {
  void* const trim = dlsym(RTLD_DEFAULT, "malloc_trim");
  void* const serving = dlsym(RTLD_DEFAULT, "malloc");
  Dl_info of_trim{};
  Dl_info of_malloc{};
  if (trim == nullptr || dladdr(trim, &of_trim) == 0 || dladdr(serving, &of_malloc) == 0) return nullptr;
  return of_trim.dli_fbase == of_malloc.dli_fbase ? reinterpret_cast<Trim>(trim) : nullptr;
}

size_t rollup_kib(const char* field) {
  char text[4096];
  const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("no /proc/self/smaps_rollup");
  size_t length = 0;
  for (ssize_t n = 1; n > 0 && length < sizeof text - 1; length += static_cast<size_t>(n)) {
    n = read(file, text + length, sizeof text - 1 - length);
    if (n <= 0) break;
  }
  close(file);
  text[length] = '\0';
  const char* const at = std::strstr(text, field);
  if (at == nullptr) fail("a field is missing in smaps_rollup");
  return std::strtoull(at + std::strlen(field), nullptr, 10);
}

void Report::print() const {
  for (const Row& row : rows_) std::printf("%-18s %-34s %12.2f %s\n", workload_, row.name.c_str(), row.value, row.unit);
  std::printf("{\"workload\":\"%s\",\"threads\":%u,\"size\":%zu,\"seed\":%" PRIu64 ",\"rounds\":%u,\"results\":[",
              workload_, options_.threads, options_.size, options_.seed, options_.rounds);
  const char* separator = "";
  for (const Row& row : rows_) {
    std::printf("%s{\"name\":\"%s\",\"value\":%.4f,\"unit\":\"%s\"}", separator, row.name.c_str(), row.value, row.unit);
    separator = ",";
  }
  std::printf("]}\n");
}

}  // namespace workload
