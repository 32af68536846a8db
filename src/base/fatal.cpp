#include "base/fatal.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/system_call.h"
#include "base/text.h"

namespace snug {

void write_line(const char* bytes, size_t count) {
  while (count != 0) {
    const long written = persistent_system_call(SYS_write, STDERR_FILENO, bytes, count);
    if (written <= 0) return;  // nobody listens: there is nothing better to do
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

void tell_misuse(const char* call, const void* block, const char* reason, const char* remark) {
  Text<256> line;
  line.add("snug: ").add(call).add("(").add_hex(address_of(block)).add("): ").add(reason).add(remark).add("\n");
  write_line(line.data(), line.size());
}

void die_of_misuse(const char* call, const void* block, const char* reason) {
  tell_misuse(call, block, reason, "");
  abort();
}

void die_of_bug(const char* reason, const char* file, int line_number) {
  Text<512> line;
  line.add("snug: bug: ").add(reason).add(" (").add(file).add(":").add(static_cast<uint64_t>(line_number)).add(")\n");
  write_line(line.data(), line.size());
  abort();
}

}  // namespace snug
