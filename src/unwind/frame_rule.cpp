#include "unwind/frame_rule.h"

#include <string.h>

#include "base/bits.h"
#include "os/frame_tables.h"
#include "os/readable.h"
#include "unwind/frame_table.h"

namespace snug::unwind {

namespace {

// Follows the instructions behind a call: they give the frame back, if they do nothing else before they return.
FrameRule rule_by_code(uintptr_t call) {
  constexpr size_t kMostBytes = 24;
  const uintptr_t next = call + 1;
  if (!os::is_readable(at<void>(next)) || !os::is_readable(at<void>(next + kMostBytes - sizeof(uint64_t)))) return {};
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
  if (!os::finds_frame_tables()) return kByFramePointer;
  const uintptr_t table = os::find_frame_table(call);
  if (table == 0) return rule_by_code(call);
  return find_table_rule(table, call);  // a guess would tell calls that never were
}

}  // namespace snug::unwind
