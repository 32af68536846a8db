#include "os/frame_rule.h"

#include <string.h>

#include "base/bits.h"
#include "os/libc_features.h"
#include "os/memory.h"
#include "os/unwind_table.h"

namespace snug::os {

#if defined(__x86_64__)

namespace {

// What glibc's _dl_find_object() fills in: the module that an address lies in. The function is lock-free, and may be
// called within dlopen. A glibc before 2.35 has none, and its headers do not declare it; in a program the linker would
// take a weak reference for none where it has one.
struct FoundModule {
  uint64_t flags;
  uintptr_t start;
  uintptr_t end;
  void* link_map;
  uintptr_t table;  // .eh_frame_hdr
  uint64_t reserved[7];
};

// In the library as one file all that is not marked is hidden, and a hidden function is none of libc's.
#if SNUG_LIBC_FINDS_OBJECTS
extern "C" SNUG_EXPORT int find_object(void* address, FoundModule* module) SNUG_ASM_NAME("_dl_find_object");
bool finds_objects() { return true; }
#else
extern "C" SNUG_WEAK_IMPORT int find_object(void* address, FoundModule* module) SNUG_ASM_NAME("_dl_find_object");
bool finds_objects() { return find_object != nullptr; }
#endif

// Follows the instructions behind a call: they give the frame back, if they do nothing else before they return.
FrameRule rule_by_code(uintptr_t call) {
  constexpr size_t kMostBytes = 24;
  const uintptr_t next = call + 1;
  if (!is_readable(at<void>(next)) || !is_readable(at<void>(next + kMostBytes - sizeof(uint64_t)))) return {};
  const auto* const code = at<const unsigned char>(next);
  int32_t offset = 0;  // of the stack pointer by now
  int32_t saved_at = -1;
  for (size_t i = 0; i + 7 < kMostBytes;) {
    if (code[i] == 0xc3) {  // ret
      const int32_t end = offset + 8;
      return {FrameRule::End::kFromStackPointer, end, saved_at >= 0 ? saved_at - end : 0};
    }
    if (code[i] == 0x48 && code[i + 1] == 0x83 && code[i + 2] == 0xc4 && code[i + 3] < 0x80) {  // add $8, %rsp
      offset += code[i + 3];
      i += 4;
    } else if (code[i] == 0x41 && code[i + 1] >= 0x58 && code[i + 1] <= 0x5f) {  // pop %r8 to %r15
      offset += 8;
      i += 2;
    } else if (code[i] >= 0x58 && code[i] <= 0x5f && code[i] != 0x5c) {  // pop %rax to %rdi, but %rsp
      if (code[i] == 0x5d) saved_at = offset;
      offset += 8;
      i += 1;
    } else {
      break;
    }
  }
  return kByFramePointer;
}

}  // namespace

FrameRule find_frame_rule(uintptr_t call) {
  if (!finds_objects()) return kByFramePointer;
  FoundModule module;
  if (find_object(at<void>(call), &module) != 0 || module.table == 0) return rule_by_code(call);
  return find_table_rule(module.table, call);  // a guess would tell calls that never were
}

#else

FrameRule find_frame_rule(uintptr_t) { return kByFramePointer; }

#endif

}  // namespace snug::os
