#include "checked/call_stack.h"

#include "base/bits.h"
#include "base/fatal.h"
#include "base/return_address.h"
#include "base/text.h"
#include "os/loaded_module.h"
#include "os/memory.h"
#include "os/thread.h"
#include "unwind/readable_stack.h"

namespace snug {
namespace {

constexpr uintptr_t kFrameAlignment = 16;  // of a frame, by the calling convention

SNUG_INITIAL_EXEC constinit thread_local uint32_t thread_number = 0;

// Calls visit(last byte of a call) for up to `most` frames, the innermost first.
template <class Visit>
SNUG_ALWAYS_INLINE void walk(const void* innermost, size_t most, Visit visit) {
  uintptr_t frame = address_of(innermost);
  // A word that is no frame may lead to what has been unmapped since an earlier walk.
  unwind::ReadableStack stack(frame, os::unmappings());
  for (size_t steps = 0; steps != most && is_aligned(frame, kFrameAlignment) && stack.can_read(frame); ++steps) {
    const auto* const words = at<const uintptr_t>(frame);
    if (words[1] == 0) return;
    visit(return_address(words[1]) - 1);
    if (words[0] <= frame) return;  // callers' frames lie above
    frame = words[0];
  }
}

}  // namespace

uint32_t calling_thread() {
  if (thread_number == 0) thread_number = os::thread_number();
  return thread_number;
}

void forget_calling_thread() { thread_number = 0; }

void CallStack::take(const void* innermost) {
  thread = calling_thread();
  count = 0;
  walk(innermost, kMost, [this](uintptr_t call) { add(call); });
}

void CallStack::add(uintptr_t frame) {
  frame = address(frame);  // a word that is no return address may be any number
  for (uint32_t i = 0; i != count; ++i) {
    if (address(frames[i]) != frame) continue;
    frames[i] += kAgain;
    return;
  }
  frames[count++] = frame;
}

void CallStack::write(const char* what) const {
  if (thread == 0) return;
  Text<128> head;
  head.add("snug: ").add(what).add(" thread ").add(uint64_t{thread});
  head.add(count == 0 ? ", at a place that was not kept: there are too many others\n" : ":\n");
  write_line(head.data(), head.size());
  for (uint32_t i = 0; i != count; ++i) {
    const uintptr_t address = CallStack::address(frames[i]);
    os::LoadedModule module;
    // A function without a frame pointer has left something else in the register, which leads to no code.
    if (!os::find_module(address, &module) && i != 0) return;
    Text<384> line;
    line.add("snug:   ").add(module.path);
    if (module.path[0] != 0) line.add("+");
    line.add_hex(module.path[0] != 0 ? module.address : address);
    if (const uint64_t there = times(frames[i]); there != 1) line.add(", ").add(there).add(" times");
    line.add("\n");
    write_line(line.data(), line.size());
  }
}

}  // namespace snug
