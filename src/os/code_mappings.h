// Which files' code is mapped where, and the build ids of these files. Allocates nothing, and leaves errno alone. Reads
// /proc/thread-self/maps, and what is in memory through /proc/thread-self/mem, so that a module which is unloaded
// meanwhile does no harm. Any thread may ask; it opens and reads files, so that no lock should be held. A profile does,
// as it is written.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug::os {

struct CodeMapping {
  uintptr_t start = 0;
  uintptr_t end = 0;
  uint64_t offset = 0;    // of its first byte in the file
  const char* path = "";  // valid during the call alone
  unsigned char build_id[32] = {};
  size_t build_id_bytes = 0;  // 0: unknown
};

// Calls visit(context, mapping) for each executable mapping, in the order of addresses.
void for_each_code_mapping(void (*visit)(void* context, const CodeMapping& mapping), void* context);

}  // namespace snug::os
