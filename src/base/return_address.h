// Return addresses as code has them.
#pragma once

#include <stdint.h>

namespace snug {

// The address behind a call, of the word that its function has stored. On AArch64 a function may sign that before
// (pointer authentication), in the bits above an address, by its place on the stack: one call then has many words.
inline uintptr_t return_address(uintptr_t stored) {
#ifdef __aarch64__
  register uintptr_t link __asm__("x30") = stored;
  __asm__("hint #7" : "+r"(link));  // xpaclri, which does nothing on processors that do not sign
  return link;
#else
  return stored;
#endif
}

}  // namespace snug
